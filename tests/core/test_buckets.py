"""L2E: the teacher's scores as classes, the student that predicts them, and what it learns from."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_choices import question_batch
from test_windows import LIMIT, LONG
from torch.nn import functional as F

import tiny
from unirex.data.example import Example
from unirex.encoding.batch import Batch, collate
from unirex.encoding.encode import TextEncoder
from unirex.errors import UserError
from unirex.extractors.bucket_tagger import BucketTagger, discretise, predicted
from unirex.models.task import Pass
from unirex.objectives.imitation import Imitation

ROWS = st.integers(1, 8).flatmap(
    lambda width: st.lists(
        st.lists(st.floats(-4, 4, width=32), min_size=width, max_size=width), min_size=1, max_size=4
    )
)


def everywhere(scores):
    return torch.ones(scores.shape, dtype=torch.bool)


def expected_class(score, positive, negative):
    if score < 0:
        return 0 if score < sum(negative) / len(negative) else 1
    if score == 0:
        return 2
    return 3 if score <= sum(positive) / len(positive) else 4


@given(ROWS)
def test_classes_are_those_of_the_definition(rows):
    found = discretise(torch.tensor(rows), everywhere(torch.tensor(rows))).tolist()
    for row, classes in zip(rows, found, strict=True):
        positive, negative = [one for one in row if one > 0], [one for one in row if one < 0]
        assert classes == [expected_class(one, positive, negative) for one in row]


def test_what_does_not_count_is_neutral_and_part_of_no_mean():
    scores = torch.tensor([[9.0, 2.0, 1.0, -1.0, float("nan")]])
    valid = torch.tensor([[False, True, True, True, False]])
    assert discretise(scores, valid).tolist() == [[2, 4, 3, 1, 2]]  # mean 1.5, not 4


def test_choices_have_their_means_together():
    scores = torch.tensor([[1.0, -1.0], [3.0, -3.0], [3.0, 0.0]])
    owner = torch.tensor([0, 0, 1])  # means 2, -2 and 3
    assert discretise(scores, everywhere(scores), owner).tolist() == [[3, 1], [4, 0], [3, 2]]


def test_equal_scores_are_at_their_mean():
    scores = torch.tensor([[0.1] * 7, [-0.1] * 7, [0.0] * 7])
    assert discretise(scores, everywhere(scores)).tolist() == [[3] * 7, [1] * 7, [2] * 7]


def tagger(folder, **options):
    model = tiny.build_model(folder, extractor="dual-lm")
    torch.manual_seed(0)
    made = BucketTagger(model.config.encoder, **options)
    made.encoder = model.extractor.encoder
    tiny.shaken(made.head, seed=3)
    return model, made.eval()


def test_scores_are_the_class_or_its_mean(encoders):
    model, made = tagger(encoders("bert"))
    full = Pass(model.task, tiny.build_batch(encoders("bert")))
    logits = made.bucket_logits(full)
    assert logits.shape == (*full.batch.input_ids.shape, 5)
    torch.testing.assert_close(made(full, None), logits.argmax(-1).float() - 2)
    made.score = "expected"
    values = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0])
    torch.testing.assert_close(made(full, None), logits.softmax(-1) @ values)


def test_unknown_scores_are_refused(encoders):
    with pytest.raises(UserError, match="argmax, expected"):
        tagger(encoders("bert"), score="median")


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_the_predicted_label_is_told_at_special_tokens(encoders, family):
    model, made = tagger(encoders(family), label=True)
    batch = tiny.build_batch(encoders(family))
    full = Pass(model.task, batch)
    with torch.no_grad():
        made.labels.weight.zero_()
        plain = made.bucket_logits(full)
        made.labels.weight[1] = torch.randn(tiny.HIDDEN, generator=torch.Generator().manual_seed(0))
        told = made.bucket_logits(full)
    with torch.no_grad():
        model.task.head.bias += torch.tensor([0.0, 100.0])
        everyone = made.bucket_logits(Pass(model.task, batch))
    hot = predicted(full).bool()
    changed = ((told - plain).abs().amax(-1) > 1e-4)[batch.attention_mask]
    assert changed.any() == hot.any()
    torch.testing.assert_close(told[~hot], plain[~hot])
    assert ((everyone - plain).abs().amax((1, 2)) > 1e-4).all()
    added = made._tags(Pass(model.task, batch))
    assert not added[~batch.special].any()
    assert added[batch.special].all()


def test_of_choices_the_chosen_one_is_told():
    batch = question_batch()
    answer = torch.tensor([[0.0, 2.0, 1.0], [1.0, 0.0, -1e4]])
    full = SimpleNamespace(logits=answer, batch=batch)
    assert predicted(full).tolist() == [0, 1, 0, 1, 0]


def test_a_long_text_is_tagged_through_its_windows(encoders):
    model, made = tagger(encoders("bert"), label=True)
    made_encoder = TextEncoder(tiny.tokenizer("wordpiece"), LIMIT, ("neg", "pos"), truncation="windows")
    encoded = made_encoder.encode([Example("l", (LONG,), "neg"), Example("s", ("a dull film",), "pos")])
    batch = collate(encoded, made_encoder.tokenizer.pad_token_id)
    model.task.window = LIMIT
    full = Pass(model.task, batch)
    assert full.windows is not None
    found = made.bucket_logits(full)
    alone = Pass(model.task, batch.rows(torch.tensor([1]), int(batch.lengths()[1])))
    torch.testing.assert_close(
        found[1, : batch.lengths()[1]], made.bucket_logits(alone)[0], atol=1e-5, rtol=1e-4
    )
    assert found.shape == (*batch.input_ids.shape, 5)


def imitation_step(batch, logits):
    extractor = SimpleNamespace(bucket_logits=lambda full: logits)
    return SimpleNamespace(batch=batch, full=None, extractor=extractor)


def test_imitation_is_the_mean_over_tokens_that_are_no_padding():
    mask = torch.tensor([[True, True, True], [True, True, False]])
    selectable = torch.tensor([[False, True, True], [False, True, False]])
    given_scores = torch.tensor([[5.0, 2.0, -1.0], [0.0, 3.0, 7.0]])
    batch = Batch(mask.long(), mask, ~mask, selectable)
    batch = replace(batch, given=given_scores)
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    found = Imitation(1.0)(imitation_step(batch, logits))
    # special tokens are neutral (2), whatever the teacher said; one score on a side is at its mean
    classes = torch.tensor([[2, 3, 1], [2, 3, -100]])
    assert found.shape == (2,)
    torch.testing.assert_close(found.mean(), F.cross_entropy(logits.view(-1, 5), classes.view(-1)))


def test_imitation_without_a_teacher_is_refused(encoders):
    batch = tiny.build_batch(encoders("bert"))
    with pytest.raises(UserError, match="l2e"):
        Imitation(1.0)(imitation_step(batch, None))
    step = SimpleNamespace(batch=replace(batch, given=torch.zeros(batch.input_ids.shape)), extractor=None)
    with pytest.raises(UserError, match="bucket-tagger"):
        Imitation(1.0)(step)


def test_imitation_trains_the_tagger_and_nobody_else(encoders):
    model, made = tagger(encoders("bert"), label=True)
    batch = tiny.build_batch(encoders("bert"))
    given_scores = torch.randn(batch.input_ids.shape, generator=torch.Generator().manual_seed(0))
    full = Pass(model.task, replace(batch, given=given_scores))
    step = SimpleNamespace(batch=full.batch, full=full, extractor=made)
    Imitation(1.0)(step).mean().backward()
    assert made.head.weight.grad.abs().sum() > 0
    assert made.labels.weight.grad.abs().sum() > 0
    assert all(one.grad is None for one in model.task.parameters())
    assert full.logits.requires_grad, "asking for the label must not cost the others their gradient"
