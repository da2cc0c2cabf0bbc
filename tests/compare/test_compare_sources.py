"""Where evaluations are found, which belong together, and what cannot be compared."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
import yaml
from made import BUDGETS, change_saved, file, records, run

from unirex.comparison import compare
from unirex.errors import UserError
from unirex.evaluation.predictions import REMOVAL
from unirex.evaluation.record_files import write_records

BARE = {"views": (), "draws": ()}  # nothing was removed
SILENT = {"predicted": None, "target": None, "probabilities": (), "label": None}


def names(places, **how):
    return [method.name for method in compare(places, **how).methods]


def test_a_run_an_evaluation_a_file_and_a_named_place_are_all_taken(tmp_path):
    places = [
        run(tmp_path / "a"),
        run(tmp_path / "b", method="vanilla") / "evaluation" / "sst-test",
        file(tmp_path / "other.jsonl", seed=5),
        f"mine={file(tmp_path / 'x.parquet', seed=6)}",
    ]
    found = compare(places)
    assert [method.name for method in found.methods] == ["slm-fp", "vanilla", "other", "mine"]
    assert found.texts == 60 and [method.seeds for method in found.methods] == [1, 1, 1, 1]


def test_seeds_of_one_method_are_grouped(tmp_path):
    found = compare([run(tmp_path / f"r{seed}", seed=seed) for seed in (0, 1, 2)])
    (method,) = found.methods
    assert method.name == "slm-fp" and method.seeds == 3
    mean, std = method.metrics["accuracy"]
    each = [seed.metrics["accuracy"] for seed in method.runs]
    assert mean == pytest.approx(sum(each) / 3) and std > 0


def test_the_same_name_groups_whatever_the_settings(tmp_path):
    places = [f"ours={file(tmp_path / f'{seed}.jsonl', seed=seed)}" for seed in (0, 1)]
    (method,) = compare(places).methods
    assert (method.name, method.seeds) == ("ours", 2)


def test_methods_of_one_name_are_told_apart_by_what_differs(tmp_path):
    short, long = ({"training": {"epochs": epochs}} for epochs in (2, 9))
    places = [run(tmp_path / "a", settings=short), run(tmp_path / "b", settings=long, seed=1)]
    assert names(places) == ["slm-fp (epochs 2)", "slm-fp (epochs 9)"]


def test_many_differences_are_told_by_the_folder(tmp_path):
    other = {"training": {"epochs": 9, "learning_rate": 1.0, "clip": 2.0}}
    assert names([run(tmp_path / "a"), run(tmp_path / "b", settings=other)]) == ["slm-fp (a)", "slm-fp (b)"]


def test_a_seed_that_comes_twice_is_no_seed_of_the_same_method(tmp_path):
    assert names([run(tmp_path / "a"), run(tmp_path / "b")]) == ["slm-fp (a)", "slm-fp (b)"]


def test_another_extractor_at_evaluation_is_another_method(tmp_path):
    places = [run(tmp_path / name, method="vanilla") for name in ("a", "b")]
    for place, extractor in zip(places, ("gradient", "deeplift"), strict=True):
        change_saved(place, extractor=extractor)
    assert names(places) == ["vanilla (gradient)", "vanilla (deeplift)"]


def test_results_in_memory_are_taken_too():
    good = SimpleNamespace(name="good", records=records(right=0.9))
    bad = SimpleNamespace(name="bad", records=records(right=0.6, seed=1))
    assert names([good, bad]) == ["good", "bad"]
    found = compare({"a": [good, bad], "b": good})
    assert [(method.name, method.seeds) for method in found.methods] == [("a", 2), ("b", 1)]
    assert "a" in found.page()


def test_several_evaluations_must_be_chosen_from(tmp_path):
    run(tmp_path / "a")
    run(tmp_path / "a", evaluation="sst-dev", texts=3)
    with pytest.raises(UserError, match="several evaluations: sst-dev, sst-test; choose one by --evaluation"):
        compare([tmp_path / "a"])
    with pytest.raises(UserError, match="no evaluation 'sst-tes'; there is: sst-dev, sst-test"):
        compare([tmp_path / "a"], evaluation="sst-tes")
    assert names([tmp_path / "a"], evaluation="sst-dev") == ["slm-fp"]


def test_what_is_no_evaluation_is_named(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "bad.jsonl").write_text('{"id": "x"}\n')
    (tmp_path / "none.jsonl").write_text("")
    for place, says in (
        ("empty", "no evaluation here"),
        ("nowhere", "no such run"),
        ("notes.txt", "records are in .jsonl or .parquet"),
        ("bad.jsonl", "bad.jsonl:1: not a record"),
        ("none.jsonl", "there are no records"),
    ):
        with pytest.raises(UserError, match=says):
            compare([tmp_path / place])
    with pytest.raises(UserError, match="give a name and a place"):
        compare(["=x"])
    with pytest.raises(UserError, match="nothing to compare"):
        compare([])


def test_only_shared_texts_count_and_it_is_said(tmp_path):
    found = compare([file(tmp_path / "a.jsonl"), file(tmp_path / "b.jsonl", number=40, seed=1)])
    assert found.texts == 40
    assert found.warnings[0] == "Only the 40 texts that all have count; the largest evaluation has 60."
    alone = compare([file(tmp_path / "c.jsonl", number=40)])
    assert found.methods[0].value("csd") == alone.methods[0].value("csd")


def test_files_in_another_order_are_paired_by_id(tmp_path):
    write_records(tmp_path / "b.jsonl", records()[::-1])
    found = compare([file(tmp_path / "a.jsonl"), tmp_path / "b.jsonl"])
    assert all(test.difference == 0 for test in found.tests()) and len(found.gathered.shown) == 60


def test_other_texts_labels_budgets_or_removals_are_no_comparison(tmp_path):
    made = records()
    ours = file(tmp_path / "a.jsonl")
    for change, says in (
        ({"segments": ("other text",)}, "example 'text-0' has another text"),
        ({"label": "neg" if made[0].label == "pos" else "pos"}, "example 'text-0' has another label"),
        ({"id": "text-1"}, "the id 'text-1' comes twice"),
    ):
        write_records(tmp_path / "b.jsonl", [replace(made[0], **change), *made[1:]])
        with pytest.raises(UserError, match=says):
            compare([ours, tmp_path / "b.jsonl"])
    for how, says in (
        ({"change": lambda record: replace(record, id=f"x{record.id}")}, "no example in common"),
        ({"budgets": BUDGETS[:2]}, r"measured with budgets 10, 20, 50, .* with 10, 20;"),
        ({"removals": ("mask_token",)}, r"measured with removal delete, .* with mask_token"),
    ):
        with pytest.raises(UserError, match=says):
            compare([ours, file(tmp_path / "c.jsonl", **how)])


def own_way(path, **how):
    """Records of another tool, which took tokens out as it pleased."""

    def changed(record):
        return replace(record, views=tuple(replace(views, removal=REMOVAL) for views in record.views))

    return file(path, seed=2, draws=0, removals=("delete",), change=changed, **how)


def test_a_tools_own_way_of_removing_tokens_is_told_not_refused(tmp_path):
    places = {"ours": file(tmp_path / "a.jsonl"), "theirs": own_way(tmp_path / "b.jsonl")}
    for order in (["ours", "theirs"], ["theirs", "ours"]):
        found = compare({name: places[name] for name in order})
        (note,) = [note for note in found.notes if "its own way" in note]
        assert note.startswith("theirs removed tokens in its own way; the others by 'delete'")
        assert note in found.warnings and found.tests()
        assert "external" in found.page()
    assert not compare([places["theirs"]]).notes


def test_a_tools_own_budgets_leave_out_what_rests_on_them(tmp_path):
    places = {"theirs": own_way(tmp_path / "c.jsonl", budgets=(20.0,)), "ours": file(tmp_path / "a.jsonl")}
    found = compare(places, draws=99)
    theirs, ours = found.methods
    assert "csd" not in theirs.metrics and "csd" in ours.metrics and "csd@20" in theirs.metrics
    assert "auprc" in theirs.metrics and found.differences("accuracy")[0].pairs == 60
    assert found.budget == 20.0 and any("was measured at 20 %" in note for note in found.notes)
    assert "theirs was measured at 20 %" in found.page()


def test_following_the_gold_label_is_not_following_the_prediction(tmp_path):
    first = records(seed=1)[0]
    assert first.label == first.predicted  # the first record alone does not tell
    gold = file(tmp_path / "b.jsonl", seed=1, change=lambda record: replace(record, target=record.label))
    with pytest.raises(UserError, match=r"with target predicted, .* with gold"):
        compare([file(tmp_path / "a.jsonl"), gold])


def test_rationales_that_nothing_was_removed_by_need_no_common_budgets(tmp_path):
    bare = file(tmp_path / "b.jsonl", budgets=BUDGETS[:2], change=BARE)
    assert compare([file(tmp_path / "a.jsonl"), bare]).budget == 20.0


def test_numbers_kept_beside_records_are_used_only_while_they_are_true(tmp_path):
    folder = run(tmp_path / "a")
    path = folder / "evaluation" / "sst-test" / "metrics.json"
    kept, saved = compare([folder]).methods[0], json.loads(path.read_text())
    assert kept.floor["csd"] == saved["floor"]["csd"]["mean"]
    saved["metrics"]["csd"], saved["floor"]["csd"]["mean"], saved["intervals"]["csd"] = 9, 9, [9, 9]
    path.write_text(json.dumps(saved))
    again = compare([folder]).methods[0]
    assert again.value("csd") == kept.value("csd") and again.floor["csd"] == pytest.approx(kept.floor["csd"])
    assert again.interval("csd") == pytest.approx(kept.interval("csd"))


def test_evaluations_outside_their_runs_are_grouped_by_the_settings_kept_with_them(tmp_path):
    for seed in (0, 1):
        home = run(tmp_path / f"r{seed}", seed=seed)
        settings = yaml.safe_load((home / "settings.yaml").read_text())
        change_saved(home, run=settings).rename(tmp_path / f"out{seed}")
    (method,) = compare([tmp_path / "out0", tmp_path / "out1"]).methods
    assert (method.name, method.seeds) == ("slm-fp", 2)


def test_words_and_parts_of_words_are_not_held_against_each_other(tmp_path):
    def halves(record):
        (sequence,) = record.sequences
        tokens = []
        for segment, start, end in sequence.tokens:
            tokens.append((segment, start, start + 1))
            if start + 1 < end:
                tokens.append((segment, start + 1, end))
        gold = tuple(at % 2 == 0 for at in range(len(tokens)))
        parts = replace(sequence, tokens=tuple(tokens), gold=gold, scores=(0.5,) * len(tokens))
        return replace(record, sequences=(parts,), draws=())

    parts = file(tmp_path / "b.jsonl", seed=1, change=halves)
    found = compare({"words": file(tmp_path / "a.jsonl", plausible=0.9), "parts": parts})
    assert any(note.startswith("words marks words, parts parts of words: AUPRC") for note in found.notes)
    assert not found.best("auprc") and not found.differences("auprc") and found.differences("csd")


def test_gains_of_two_desiderata_say_so(tmp_path):
    how = [{}, {}, {}, {"plausible": 0.9}]
    places = [
        file(tmp_path / f"{seed}.jsonl", seed=seed, change=BARE, **kind) for seed, kind in enumerate(how)
    ]
    found = compare(places, draws=99)
    says = "No method has what FNRG needs: CNRG is the mean of PNRG and TNRG only."
    assert says in found.warnings and "None" not in found.page().split("<script")[0]


@pytest.mark.drawn
def test_a_page_of_bare_rationales_has_no_empty_sections(tmp_path):
    places = [file(tmp_path / f"{seed}.jsonl", seed=seed, change=BARE | SILENT) for seed in (0, 1)]
    page = compare(places, draws=99).page()
    for section in re.findall(r"<section[^>]*>(.*?)</section>", page, re.DOTALL):
        assert re.search("<td|<figure|<article|<li|<div|<p>", section)
    assert "'None'" not in page and "Is it faithfulness?" not in page and "<tbody></tbody>" not in page
