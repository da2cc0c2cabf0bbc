"""The verdict in words says what was planted, and no more than the tests allow."""

import pytest
from made import file

from unirex.comparison import compare


@pytest.fixture
def said(tmp_path):
    """`said(a={…}, b={…})` is the verdict on methods made like that."""

    def verdict(**made):
        places = {name: file(tmp_path / f"{name}.jsonl", **how) for name, how in made.items()}
        return " ".join(compare(places, draws=400).verdict)

    return verdict


def test_two_methods_are_compared_on_each_desideratum(said):
    words = said(plain={"faithful": 0.7}, trained={"faithful": 0.2, "plausible": 0.9})
    assert words.startswith("Compared with plain, trained is exactly as accurate (Acc 85.0), less faithful")
    assert "more plausible (AUPRC" in words
    assert "Real differences (paired randomisation test over 60 texts, 5 %): Comp, " in words
    assert "With one seed of a method" in words and "only 60 texts" not in words


def test_where_nothing_differs_nothing_is_claimed(said):
    words = said(a={"number": 12}, b={"number": 12, "seed": 1})
    assert "more" not in words and "less" not in words and words.count("about as") == 3
    assert "No difference between them is significant" in words and "only 12 texts" in words


def test_of_several_methods_the_best_and_the_worse_are_named(said):
    words = said(a={"plausible": 0.9}, b={"seed": 1}, c={"plausible": 0.9, "seed": 2, "faithful": 0.0})
    assert "Most plausible: " in words and "Significantly less plausible: b." in words
    assert "Significantly less faithful: c." in words and "Among the best in all of these: a." in words


def test_a_single_system_is_held_against_chance_and_random_rationales(said):
    words = said(a={"plausible": 0.9})
    assert words.startswith("a is right on 85.0 % (") and "one answer to all of them reaches" in words
    assert "more faithful than random ones: CSD" in words and "more plausible than random ones" in words
    assert "no random ones were drawn" in said(a={"draws": 0})
