"""HateXplain: posts that are hateful, offensive or normal, with the words that three people marked.

`dataset.json` holds the posts and `post_id_divisions.json` the published splits (Mathew et al., 2021). The
label is the majority's. 919 of 20 148 posts have three different labels; the authors leave them out, and so
are they here. Normal posts have no marks and no gold.

A word is gold if more than half of a post's markings have it. The authors train attention on the mean of the
markings and score plausibility against their union: `annotators="union"`. Markings do not name who made
them, and where there are fewer than three their order is not that of the labels: all of a post count,
whatever label their author chose.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from reprlib import repr as short
from typing import Any

from unirex.data.annotators import AnnotatorAnswer, agree, check_aggregation
from unirex.data.example import SPLIT_NAMES, CharSpan, DatasetInfo, Example, Splits
from unirex.data.rows import DAMAGED, open_bytes, read_json
from unirex.data.split import split_name, stratified_split
from unirex.data.validate import (
    at,
    check_file,
    check_splits,
    check_text,
    exists,
    file_kind,
    is_collecting,
    note_place,
    row_at,
)
from unirex.errors import UserError, unknown

INFO = DatasetInfo(name="hatexplain", labels=("hatespeech", "normal", "offensive"), metric="macro_f1")
FOLDERS = ("hatexplain", "HateXplain/Data")
POSTS, DIVISIONS = "dataset.json", "post_id_divisions.json"

log = logging.getLogger(__name__)


def load(path: Path, *, seed: int = 0, annotators: str = "majority") -> Splits:
    """The published splits, or if there is no file of them, splits drawn by `seed`.

    Args:
        path: the folder of the two files, or the file of the posts, with the other one beside it.
        seed: seed of the split.
        annotators: whose marks are gold; see `unirex.data.annotators`.
    """
    check_aggregation(annotators)
    posts, divisions = sources(path)
    check_file(posts, suffixes=(".json",))
    examples = _examples(posts, annotators)
    with at(posts.parent):
        parts = _published(divisions, examples) if exists(divisions) else _drawn(posts, examples, seed)
        check_splits(parts)
    return Splits(INFO, parts)


def sources(path: Path) -> tuple[Path, Path]:
    """The files that are read of a folder, or with a file of posts: the posts, and their splits."""
    return (path / POSTS, path / DIVISIONS) if path.is_dir() else (path, path.with_name(DIVISIONS))


def is_published(path: Path) -> bool:
    """Whether a JSON file, or the one in a folder, holds posts as they were published."""
    posts = sources(path)[0]
    if file_kind(posts) != ".json":
        return False
    with suppress(*DAMAGED), open_bytes(posts) as file:
        found = json.loads(file.read())
        first = next(iter(found.values())) if isinstance(found, dict) and found else None
        return isinstance(first, dict) and {"annotators", "post_tokens"} <= first.keys()
    return False


def _examples(path: Path, annotators: str) -> dict[str, Example]:
    """The posts with a majority label, by their ids."""
    found = read_json(path)
    if not isinstance(found, dict) or not found:
        raise UserError(f"{path}: not an object of posts by their ids, as HateXplain was published")
    examples: dict[str, Example] = {}
    for name, post in found.items():
        place = f"{path}: post {name}"
        with row_at(place):
            labels = _labels(post)
            if len(labels) > 1 and len(set(labels)) == len(labels):
                continue
            note_place(place, name)
            examples[name] = _example(name, post, labels, annotators, place)
    if len(examples) < len(found):  # not a fault of the file: the authors leave them out too
        log.info("%s: %d posts without a majority label are left out", path, len(found) - len(examples))
    return examples


def _labels(post: Any) -> list[str]:
    given = post.get("annotators") if isinstance(post, dict) else None
    if not isinstance(given, list) or not given or not all(isinstance(one, Mapping) for one in given):
        raise UserError(f"'annotators' must be a list of objects with a label, not {short(given)}")
    labels = [str(annotator.get("label")) for annotator in given]
    for label in labels:
        if label not in INFO.labels:
            raise unknown("label", label, INFO.labels)
    return labels


def _example(
    name: str, post: Mapping[str, Any], labels: Sequence[str], annotators: str, place: str
) -> Example:
    tokens = post.get("post_tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise UserError(f"'post_tokens' must be a list of texts, not {short(tokens)}")
    segments = (check_text(" ".join(tokens), column="post_tokens"),)
    given = post.get("rationales") or []
    if not isinstance(given, list):
        raise UserError(f"'rationales' must be a list of markings, not {short(given)}")
    markings = [_marking(flags, tokens) for flags in given]
    answers = [AnnotatorAnswer(f"annotator {number}", label) for number, label in enumerate(labels, 1)]
    answers += [AnnotatorAnswer(f"marking {n}", marking=(spans,)) for n, spans in enumerate(markings, 1)]
    label, rationale, groups, votes = agree(answers, how=annotators, segments=segments, place=place)
    return Example(name, segments, label, rationale, groups=groups, votes=votes)


def _marking(flags: Any, tokens: Sequence[str]) -> tuple[CharSpan, ...]:
    """The spans of the flagged tokens in the text, where a blank stands between two tokens."""
    if not isinstance(flags, list) or len(flags) != len(tokens) or not all(flag in (0, 1) for flag in flags):
        raise UserError(f"a rationale must be a 0 or 1 for each of {len(tokens)} tokens, not {short(flags)}")
    starts = accumulate((len(token) + 1 for token in tokens), initial=0)
    placed = zip(flags, starts, tokens, strict=False)  # the last start is that of no token
    return tuple((start, start + len(token)) for flag, start, token in placed if flag and token)


def _published(path: Path, examples: Mapping[str, Example]) -> dict[str, list[Example]]:
    """The posts of each split; those that are in none are left out."""
    divisions = read_json(path)
    if not isinstance(divisions, dict) or not all(isinstance(ids, list) for ids in divisions.values()):
        raise UserError(f"{path.name}: not lists of post ids by split")
    parts = {
        split_name(split): [examples[str(name)] for name in ids if str(name) in examples]
        for split, ids in divisions.items()
    }
    absent = sum(map(len, divisions.values())) - sum(map(len, parts.values()))
    if absent and not is_collecting():
        raise UserError(
            f"{path.name}: {absent} of its posts are not in {POSTS}, or have no majority label; "
            "get both files again"
        )
    return {split: parts[split] for split in SPLIT_NAMES if split in parts}


def _drawn(path: Path, examples: Mapping[str, Example], seed: int) -> dict[str, list[Example]]:
    log.warning("%s: no %s beside it; the posts are split by a seed", path, DIVISIONS)
    return stratified_split(list(examples.values()), seed=seed)
