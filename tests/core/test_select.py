"""Scores to rationales: counts, ties, nesting, spans against brute force."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unirex.encoding.batch import Batch
from unirex.select import best_span, budget_counts, threshold, top_k

BUDGETS = (1, 5, 10, 20, 50)


@pytest.mark.parametrize(
    ("tokens", "budget", "count"),
    [(5, 50, 2), (10, 5, 1), (30, 5, 2), (50, 5, 2), (3, 100, 3), (1, 1, 1), (0, 50, 0)],
)
def test_counts_of_the_specification(tokens, budget, count):
    assert budget_counts(torch.tensor([tokens]), budget).item() == count


@given(st.integers(1, 5000), st.integers(1, 200))
def test_counts_are_at_least_one_and_halves_go_to_the_even(tokens, half_percents):
    budget = half_percents / 2
    exact = max(1, round(Fraction(tokens * half_percents, 200)))  # Python rounds halves to the even number
    assert budget_counts(torch.tensor([tokens]), budget).item() == exact


def scored(rows):
    scores = torch.tensor([[score for score, _ in row] for row in rows], dtype=torch.float32)
    return scores, torch.tensor([[flag for _, flag in row] for row in rows])


ROWS = st.integers(1, 12).flatmap(
    lambda width: st.lists(
        st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=width, max_size=width),
        min_size=1,
        max_size=4,
    )
)


@given(ROWS)
def test_top_k_takes_the_highest_selectable_leftmost_first(rows):
    scores, selectable = scored(rows)
    masks = top_k(scores, selectable, BUDGETS)
    assert masks.shape == (len(BUDGETS), *scores.shape)
    for row in range(len(rows)):
        places = [place for place in range(scores.shape[1]) if selectable[row, place]]
        order = sorted(places, key=lambda place: (-scores[row, place].item(), place))
        for index, budget in enumerate(BUDGETS):
            count = min(len(places), max(1, round(Fraction(len(places) * budget, 100))))
            assert set(masks[index, row].nonzero().flatten().tolist()) == set(order[:count])


@given(ROWS)
def test_larger_budgets_hold_smaller_ones(rows):
    masks = top_k(*scored(rows), BUDGETS)
    assert not (masks[:-1] & ~masks[1:]).any()


def test_equal_scores_go_to_the_leftmost():
    masks = top_k(torch.zeros(1, 10), torch.ones(1, 10, dtype=torch.bool), (10, 30))
    assert masks[:, 0].long().tolist() == [[1] + [0] * 9, [1] * 3 + [0] * 7]


def test_no_gradient_flows_through_the_choice():
    scores = torch.randn(2, 6, requires_grad=True)
    assert not top_k(scores, torch.ones(2, 6, dtype=torch.bool), (50,)).requires_grad


@pytest.mark.parametrize("separators", [False, True])
def test_the_first_token_is_kept_in_both_views(encoders, separators, monkeypatch):
    # [CLS] a b [SEP] [PAD]: every view keeps what is not selectable, so [CLS] is in both.
    import tiny
    from unirex.models.task import Pass, TaskModel
    from unirex.perturb import Perturber

    mask = torch.tensor([[1, 1, 1, 1, 0]]).bool()
    special = torch.tensor([[1, 0, 0, 1, 0]]).bool()
    selectable = mask & torch.tensor([[0, 1, 1, int(separators), 0]]).bool()
    batch = Batch(torch.arange(5)[None], mask, special, selectable)
    task, seen = tiny.build_model(encoders("bert"), extractor="random").task, []

    def watching(self, view, embeds):
        seen.extend(row[kept].tolist() for row, kept in zip(view.input_ids, view.attention_mask, strict=True))
        return torch.zeros(len(view.input_ids), 2)

    monkeypatch.setattr(TaskModel, "forward", watching)
    rationale = top_k(torch.tensor([[9.0, 1, 2, 3, 9]]), selectable, (50, 100))
    for kept in (rationale, ~rationale):
        Perturber("delete").logits(Pass(task, batch), kept)
    assert all(ids[0] == 0 for ids in seen)
    assert all(4 not in ids for ids in seen)
    assert ([0] in seen) == separators  # T3: everything removed leaves [CLS] alone if [SEP] may go


def test_threshold_is_strict_and_only_selectable():
    scores = torch.tensor([[0.0, 0.1, -1.0, 5.0]])
    selectable = torch.tensor([[True, True, True, False]])
    assert threshold(scores, selectable).tolist() == [[False, True, False, False]]
    assert threshold(scores, selectable, above=-1.0).tolist() == [[True, True, False, False]]


@given(ROWS)
def test_best_span_is_the_brute_force_best(rows):
    scores, selectable = scored(rows)
    masks = best_span(scores, selectable, (10, 34, 50, 100))
    for row in range(len(rows)):
        places = selectable[row].nonzero().flatten().tolist()
        for index, budget in enumerate((10, 34, 50, 100)):
            if not places:
                assert not masks[index, row].any()
                continue
            size = int(budget_counts(torch.tensor(len(places)), budget))
            starts = range(len(places) - size + 1)
            totals = [sum(scores[row, place].item() for place in places[s : s + size]) for s in starts]
            start = totals.index(max(totals))
            assert masks[index, row].nonzero().flatten().tolist() == places[start : start + size]
