"""A few ERASER files small enough to work every number out by hand."""

import json

TEXTS = {
    "d1": "the film is\nso very good",  # the0 film1 is2 | so3 very4 good5
    "d2": "dull and slow , avoid",  # dull0 and1 slow2 ,3 avoid4
    "d3": "it is fine",  # it0 is1 fine2
}


def evidence(docid, start, end, sentences=(-1, -1)):
    return {
        "docid": docid,
        "text": "",
        "start_token": start,
        "end_token": end,
        "start_sentence": sentences[0],
        "end_sentence": sentences[1],
    }


def annotation(name, label, docids, *groups):
    return {
        "annotation_id": name,
        "classification": label,
        "docids": docids,
        "evidences": [list(group) for group in groups],
        "query": "",
        "query_type": None,
    }


ANNOTATIONS = [
    annotation("a", "POS", ["d1"], [evidence("d1", 3, 6, (1, 2))]),
    annotation("b", "NEG", ["d2"], [evidence("d2", 0, 1, (0, 1))], [evidence("d2", 2, 5, (0, 1))]),
    annotation("c", "POS", ["d3"]),  # nobody marked anything
]


def write_data(folder, *, name="test", annotations=ANNOTATIONS, texts=TEXTS):
    folder.mkdir(exist_ok=True)
    write_lines(folder / f"{name}.jsonl", annotations)
    write_lines(folder / "docs.jsonl", [{"docid": docid, "document": text} for docid, text in texts.items()])
    return folder


def write_lines(path, rows):
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(line + "\n" for line in lines), "utf-8")
    return path


def classes(positive):
    return {"POS": positive, "NEG": round(1 - positive, 6)}


def spans(*pairs):
    return [{"start_token": start, "end_token": end} for start, end in pairs]


def line(name, docid, hard, soft, sentences, full, comp, suff, sizes, flip):
    """A line that has everything."""
    return {
        "annotation_id": name,
        "rationales": [
            {
                "docid": docid,
                "hard_rationale_predictions": spans(*hard),
                "soft_rationale_predictions": soft,
                "soft_sentence_predictions": sentences,
            }
        ],
        "classification": "POS",
        "classification_scores": classes(full),
        "comprehensiveness_classification_scores": classes(comp),
        "sufficiency_classification_scores": classes(suff),
        "tokens_to_flip": flip,
        "thresholded_scores": [
            {
                "threshold": threshold,
                "comprehensiveness_classification_scores": classes(removed),
                "sufficiency_classification_scores": classes(kept),
            }
            for threshold, removed, kept in sizes
        ],
    }


def submission():
    """A sound submission; a new one each time, to be spoilt."""
    return [
        line(
            "a", "d1", [(4, 6), (0, 1)], [0.2, 0.1, 0.1, 0.6, 0.8, 0.9], [0.1, 0.9],
            0.9, 0.5, 0.8, [(0.1, 0.7, 0.6), (0.5, 0.4, 0.85)], 3,
        ),
        line(
            "b", "d2", [(0, 1), (2, 4)], [0.9, 0.3, 0.7, 0.2, 0.1], [0.5],
            0.6, 0.4, 0.7, [(0.1, 0.5, 0.5), (0.5, 0.3, 0.65)], 1,
        ),
        line(
            "c", "d3", [(2, 3)], [0.1, 0.1, 0.5], [0.2],
            0.7, 0.6, 0.4, [(0.1, 0.6, 0.3), (0.5, 0.2, 0.5)], 3,
        ),
    ]  # fmt: skip
