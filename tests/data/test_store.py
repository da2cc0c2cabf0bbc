"""Examples come back from their file exactly as they were, each when it is asked for."""

import os
import pickle
import random
from itertools import islice

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unirex.data import store
from unirex.data.example import Example
from unirex.data.store import StoredExamples, read_examples, write_examples
from unirex.errors import UserError

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
SPANS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=3).map(tuple)
RATIONALE = st.lists(SPANS, max_size=3).map(tuple)
LABEL = st.one_of(TEXT, st.integers(), st.floats(allow_nan=False), st.booleans())
EXAMPLE = st.builds(
    Example,
    id=TEXT,
    segments=st.lists(TEXT, max_size=3).map(tuple),
    label=st.none() | LABEL,
    rationale=st.none() | RATIONALE,
    choices=st.none() | st.lists(TEXT, max_size=3).map(tuple),
    groups=st.lists(RATIONALE, max_size=2).map(tuple),
)


def numbered(count):
    return [Example(f"x-{n}", (f"text {n}", "é😀" * (n % 7)), n, (((0, n),), ())) for n in range(count)]


@pytest.fixture
def small_batches(monkeypatch):
    """A few hundred examples make many batches and many fetches."""
    monkeypatch.setattr(store, "BATCH_BYTES", 1000)
    monkeypatch.setattr(store, "ITERATED", 7)


@pytest.fixture
def stored(tmp_path, small_batches):
    write_examples(tmp_path / "x.arrow", numbered(300))
    return read_examples(tmp_path / "x.arrow")


@given(st.lists(EXAMPLE, max_size=5))
def test_examples_come_back_as_they_were(tmp_path_factory, examples):
    path = tmp_path_factory.mktemp("store") / "x.arrow"
    write_examples(path, examples)
    found = read_examples(path)
    assert list(found) == [found[index] for index in range(len(examples))] == examples
    assert repr(list(found)) == repr(examples)  # 1, 1.0 and True are equal; None and () are not
    assert (len(found), list(found[:3])) == (len(examples), examples[:3])


def test_half_a_surrogate_pair_in_an_id(tmp_path):
    """Texts are checked for them; ids are whatever the file says."""
    write_examples(tmp_path / "x.arrow", [Example("\ud83d", ("x",)), Example("\ud83d\ude00", ("x",))])
    assert [example.id for example in read_examples(tmp_path / "x.arrow")] == ["\ud83d", "\ud83d\ude00"]


def test_it_is_a_sequence(stored):
    examples = numbered(300)
    assert len(stored) == 300
    assert list(stored) == examples
    assert (stored[0], stored[299], stored[-1], stored[-300]) == (*examples[::299], *examples[::-299])
    assert list(reversed(stored)) == examples[::-1]
    assert examples[7] in stored
    for index in (300, -301):
        with pytest.raises(IndexError):
            stored[index]


@pytest.mark.parametrize("seed", range(20))
def test_slices_are_views(stored, seed):
    rng = random.Random(seed)
    bounds = [None, *range(-310, 310)]
    cut = slice(rng.choice(bounds), rng.choice(bounds), rng.choice([None, 1, 3, -1, -5]))
    view, expected = stored[cut], numbered(300)[cut]
    assert isinstance(view, StoredExamples)
    assert view.column is stored.column
    assert (list(view), len(view)) == (expected, len(expected))
    assert list(view[1:-1:2]) == expected[1:-1:2]
    if expected:
        assert (view[0], view[-1]) == (expected[0], expected[-1])


def test_opening_and_slicing_decode_nothing(stored, monkeypatch):
    decoded = []
    monkeypatch.setattr(store, "_decode", lambda row: decoded.append(row))
    again = read_examples(stored.path)
    assert (len(again), len(again[5:9]), decoded) == (300, 4, [])
    assert again[17] is None
    assert len(decoded) == 1
    list(islice(again, 3))
    assert len(decoded) <= 1 + store.ITERATED


def test_the_file_is_mapped_not_copied(stored):
    before = pyarrow.total_allocated_bytes()
    again = read_examples(stored.path)
    assert pyarrow.total_allocated_bytes() - before < stored.path.stat().st_size / 10
    assert again.column.num_chunks > 10


def test_writing_takes_no_more_memory_than_a_batch(tmp_path, small_batches, monkeypatch):
    """Examples are asked for only as their batch is filled."""
    asked, written = 0, []

    def examples():
        nonlocal asked
        for example in numbered(300):
            asked += 1
            yield example

    batches = store._batches
    monkeypatch.setattr(
        store, "_batches", lambda rows: (written.append(asked) or batch for batch in batches(rows))
    )
    write_examples(tmp_path / "x.arrow", examples())
    assert len(written) > 10
    assert max(later - before for before, later in zip([0, *written], written, strict=False)) < 30


def test_a_failed_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.arrow"
    write_examples(path, numbered(3))
    with pytest.raises(ZeroDivisionError):
        write_examples(path, (1 // 0 for _ in range(1)))
    assert list(read_examples(path)) == numbered(3)
    assert list(tmp_path.iterdir()) == [path]


def test_another_file_or_one_cut_off_is_reported(stored, tmp_path):
    whole = stored.path.read_bytes()
    cut = (whole[:size] for size in range(0, len(whole), 997))
    for content in (b"ARROW1", b"not arrow at all" * 100, *cut):
        (tmp_path / "y.arrow").write_bytes(content)
        with pytest.raises(UserError, match=r"y\.arrow: not a file of examples"):
            read_examples(tmp_path / "y.arrow")


@pytest.mark.parametrize("column", [{"other": [b"x"]}, {"example": ["x"]}, {"example": [1]}])
def test_another_table_is_reported(tmp_path, column):
    table = pyarrow.table(column)
    with pyarrow.ipc.new_file(str(tmp_path / "x.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(UserError, match=r"x\.arrow: not a file of examples"):
        read_examples(tmp_path / "x.arrow")


def test_a_damaged_row_is_reported_when_it_is_read(tmp_path):
    write_examples(tmp_path / "x.arrow", numbered(300))
    content = (tmp_path / "x.arrow").read_bytes()
    (tmp_path / "x.arrow").write_bytes(content.replace(b'["x-7",', b'["x-7";'))
    found = read_examples(tmp_path / "x.arrow")
    assert found[6] == numbered(7)[6]
    with pytest.raises(UserError, match=r"x\.arrow: a row is damaged .*; remove "):
        found[7]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_reads_on(stored):
    stored[3]
    child = os.fork()
    if not child:
        os._exit(0 if list(stored) == numbered(300) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_another_process_gets_the_place_not_the_content(stored):
    """DataLoader workers that are spawned get their dataset this way."""
    sent = pickle.dumps(stored[10:100:3])
    assert len(sent) < 1000
    assert list(pickle.loads(sent)) == numbered(300)[10:100:3]


def test_a_mapped_file_may_be_removed_or_replaced(stored):
    write_examples(stored.path, numbered(2))
    stored.path.unlink()
    assert list(stored) == numbered(300)
