"""One name for one thing: equal data has equal fingerprints, and any change of it has another."""

import os
from dataclasses import replace

import pytest

from unirex.data.cache import content_digest, fingerprint
from unirex.data.example import DatasetInfo, Example, Splits

INFO = DatasetInfo("reviews", ("bad", "good"), "segments", "accuracy", (0,), ("Q:",))
ONE = Example("1", ("so good", "is it?"), "good", (((3, 7),), ()), ("yes", "no"))
TWO = Example("2", ("so bad", "is it?"), "bad")


def splits(train=(ONE, TWO), dev=(), info=INFO):
    return Splits(info, {"train": train, "dev": dev})


def changed(**fields):
    return splits((replace(ONE, **fields), TWO))


OTHERS = {
    "id": changed(id="3"),
    "text": changed(segments=("so goof", "is it?")),
    "border between texts": changed(segments=("so good ", "is it?")),
    "characters moved over the border": changed(segments=("so goodi", "s it?")),
    "number of texts": changed(segments=("so goodis it?",)),
    "a choice is no text": changed(segments=("so good", "is it?", "yes"), choices=("no",)),
    "an id is no text": changed(id="1so", segments=(" good", "is it?")),
    "label": changed(label="bad"),
    "no label": changed(label=None),
    "the word None": changed(label="None"),
    "spans": changed(rationale=(((3, 6),), ())),
    "spans of another text": changed(rationale=((), ((3, 7),))),
    "nothing marked": changed(rationale=((), ())),
    "nobody marked": changed(rationale=None),
    "choices": changed(choices=("yes", "not")),
    "no choices": changed(choices=None),
    "empty choices": changed(choices=()),
    "order": splits((TWO, ONE)),
    "fewer": splits((ONE,)),
    "split": splits((ONE,), (TWO,)),
    "order of labels": splits(info=replace(INFO, labels=("good", "bad"))),
    "task": splits(info=replace(INFO, task="choice")),
    "metric": splits(info=replace(INFO, metric="macro_f1")),
    "markers": splits(info=replace(INFO, markers=("A:",))),
    "rationale segments": splits(info=replace(INFO, rationale_segments=None)),
}


def test_it_is_a_name_for_the_content_alone():
    same = Splits(replace(INFO, name="elsewhere"), {"dev": [], "train": [ONE, TWO]})
    assert fingerprint(splits()) == fingerprint(same)
    assert fingerprint(splits()) == fingerprint(changed(groups=(ONE.rationale,)))


def test_any_change_is_seen():
    names = {fingerprint(data): what for what, data in OTHERS.items()}
    assert len(names) == len(OTHERS)
    assert fingerprint(splits()) not in names


def test_labels_of_other_types_differ():
    labels = [1, 1.0, True, "1", "True", None]
    assert len({fingerprint(changed(label=label)) for label in labels}) == len(labels)


def test_it_is_the_same_on_every_machine():
    """A literal value: it is kept in run folders, so it must not depend on hash seeds or versions."""
    wild = Example("é", ("日本語 \ud83d😀\u2028",), 0.1, (((0, 3),),))
    found = fingerprint(Splits(DatasetInfo("x", ("ß", "\u0378")), {"train": [wild]}))
    assert found == "2e1c8db2a3259796322411ccd7491dbb37d4b9bf4559e16f057fbc866a7c1f87"


def test_a_known_digest_is_believed_until_it_is_taken_away():
    data = replace(splits(), digest="known")
    assert fingerprint(data) == "known"
    assert data == splits()
    assert fingerprint(replace(data, digest=None)) == fingerprint(splits())


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data" / "docs").mkdir(parents=True)
    (tmp_path / "data" / "train.txt").write_text("one")
    (tmp_path / "data" / "docs" / "a.txt").write_text("two")
    return tmp_path / "data"


def test_content_is_what_counts_not_size_date_or_place(folder, tmp_path):
    before, file = content_digest(folder), folder / "docs" / "a.txt"
    os.utime(file, (0, 0))
    assert content_digest(folder) == before
    file.write_text("tvo")
    os.utime(file, (0, 0))
    changed = content_digest(folder)
    assert changed != before
    assert content_digest(folder.rename(tmp_path / "moved")) == changed


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "new.txt").touch(),
        lambda folder: (folder / "train.txt").unlink(),
        lambda folder: (folder / "train.txt").rename(folder / "test.txt"),
        lambda folder: (folder / "train.txt").rename(folder / "docs" / "train.txt"),
    ],
)
def test_names_count(folder, change):
    before = content_digest(folder)
    change(folder)
    assert content_digest(folder) != before


def test_links_are_followed_but_not_in_circles(folder, tmp_path):
    (folder / "link").symlink_to(tmp_path / "outside", target_is_directory=True)  # leads nowhere yet
    before = content_digest(folder)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.txt").write_text("three")
    found = content_digest(folder)
    assert found != before
    (tmp_path / "outside" / "back").symlink_to(folder, target_is_directory=True)
    assert content_digest(folder) == found
