"""Several segments and multiple choice: one code path, one sequence for each choice."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

import tiny
from unirex.data.example import Example, Layout
from unirex.encoding.batch import collate
from unirex.encoding.encode import TextEncoder
from unirex.errors import UserError
from unirex.models.task import NO_CHOICE, Pass
from unirex.perturb import Perturber

QUESTIONS = [
    Example("q0", ("where is the film dull",), "B", (((13, 17),),), ("the plot", "it", "a good audience")),
    Example("q1", ("what do people like",), "A", None, ("fun", "the director and the plot")),
]
LAYOUT = Layout(1, choice=True, rationale_segments=(0,), markers=("Q:", "A:"))


def encoder(kind="wordpiece", layout=LAYOUT, limit=60, labels=("A", "B", "C"), **options):
    return TextEncoder(tiny.tokenizer(kind), limit, labels, layout=layout, **options)


def question_batch(examples=QUESTIONS, kind="wordpiece", layout=LAYOUT):
    made = encoder(kind, layout)
    return collate(made.encode(examples), made.tokenizer.pad_token_id)


def model_for(folder, layout=LAYOUT, **settings):
    from unirex.config import Config
    from unirex.modeling import RationaleModel

    torch.manual_seed(1)
    model = RationaleModel.from_encoder(
        Config(encoder=str(folder), **settings), ("A", "B", "C"), layout=layout
    )
    tiny.shaken(model.task.head, seed=1)
    if hasattr(model.extractor, "head"):
        tiny.shaken(model.extractor.head, seed=2)
    return model.eval()


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
@pytest.mark.parametrize("segments", [("a dull film",), ("a dull film", "it is good")])
def test_sequences_are_those_of_the_tokenizer(kind, segments):
    made = TextEncoder(tiny.tokenizer(kind), 60, (0, 1))
    (one,) = made.encode([Example("x", segments, 0)])
    found = made.tokenizer(*segments, return_offsets_mapping=True, return_special_tokens_mask=True)
    (tokens,) = one.sequences
    assert tokens.input_ids.tolist() == found["input_ids"]
    assert tokens.special.tolist() == [bool(flag) for flag in found["special_tokens_mask"]]
    real = [
        list(span)
        for span, special in zip(found["offset_mapping"], tokens.special, strict=True)
        if not special
    ]
    assert tokens.spans[~tokens.special][:, 1:].tolist() == real


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_three_segments_have_separators_between_them(kind):
    made = TextEncoder(tiny.tokenizer(kind), 60, (0, 1))
    pair, three = (
        made.encode([Example("x", segments, 0)])[0].sequences[0] for segments in (("a", "a"), ("a", "a", "a"))
    )
    between = pair.input_ids[2:-2].tolist()  # <cls> a … a <sep>
    one = pair.input_ids[1]
    assert three.input_ids.tolist() == [
        pair.input_ids[0],
        one,
        *between,
        one,
        *between,
        one,
        pair.input_ids[-1],
    ]
    assert three.spans[~three.special][:, 0].tolist() == [0, 1, 2]


def test_a_choice_is_one_sequence_each_with_its_markers():
    made = encoder()
    first, second = made.encode(QUESTIONS)
    assert (len(first.sequences), len(second.sequences)) == (3, 2)
    assert (first.label, second.label) == (1, 0)
    parts = [made.pieces([text])[text].ids.tolist() for text in ("Q:", "where is the film dull", "A:", "it")]
    start, middle, end = ([one] for one in made.tokenizer.convert_tokens_to_ids(["[CLS]", "[SEP]", "[SEP]"]))
    whole = [*start, *parts[0], *parts[1], *middle, *parts[2], *parts[3], *end]
    assert first.sequences[1].input_ids.tolist() == whole
    text = QUESTIONS[0].segments[0]
    for tokens in first.sequences:
        chosen = [
            text[start:end]
            for segment, start, end in tokens.spans[tokens.selectable].tolist()
            if segment == 0
        ]
        assert "".join(chosen) == text.replace(" ", ""), "the question, no marker, no answer"
        assert "".join(text[s:e] for _, s, e in tokens.spans[tokens.rationale].tolist()) == "film"
    assert second.sequences[0].rationale is None


def test_an_example_of_another_kind_is_refused():
    with pytest.raises(UserError, match="example q needs choices"):
        encoder().encode([Example("q", ("what",), "A")])
    with pytest.raises(UserError, match="example q has choices, which this system does not read"):
        encoder(layout=Layout(1)).encode([QUESTIONS[0], replace(QUESTIONS[0], id="q")][1:])
    with pytest.raises(UserError, match="example q has 2 texts; this system reads one text at a time"):
        encoder(layout=Layout(1)).encode([Example("q", ("a", "b"), "A")])
    with pytest.raises(UserError, match=r"label 'C' is not one this system knows \('A', 'B'\)"):
        encoder().encode([replace(QUESTIONS[1], label="C")])


@torch.no_grad()
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_answers_are_the_logits_of_the_sequences_side_by_side(encoders, family):
    model = model_for(encoders(family), extractor="random")
    batch = question_batch(kind=tiny.TOKENIZERS[family])
    logits = Pass(model.task, batch).logits
    assert logits.shape == (2, 3)
    assert logits[1, 2] == NO_CHOICE
    assert logits.softmax(-1)[1, 2] == 0
    row = 0
    for number, example in enumerate(QUESTIONS):
        for choice in range(len(example.choices)):
            alone = batch.rows(torch.tensor([row]))
            torch.testing.assert_close(model.task(alone)[0, 0], logits[number, choice], atol=1e-5, rtol=1e-5)
            row += 1


@torch.no_grad()
@pytest.mark.parametrize("removal", ["attention_mask", "delete"])
def test_all_sequences_of_a_choice_are_edited(encoders, removal):
    model = model_for(encoders("bert"), extractor="random")
    batch = question_batch()
    step = model.step(batch, removal=removal, budgets=(20, 50))
    assert step.masks.shape == (2, 5, batch.input_ids.shape[1])
    assert (step.masks & ~batch.selectable).sum() == 0
    views = Perturber(removal).logits(step.full, ~step.masks)  # [K, D, 1]
    expected = torch.full((2, 2, 3), NO_CHOICE)
    expected[:, 0], expected[:, 1, :2] = views[:, :3, 0], views[:, 3:, 0]
    torch.testing.assert_close(step.dropped_logits, expected, atol=1e-5, rtol=1e-5)
    assert (step.dropped_logits[0, 0] != step.full.logits[0]).all(), "every choice lost words"


def test_losses_of_a_choice_are_cross_entropies_over_its_choices(encoders):
    from unirex.objectives import Objectives
    from unirex.objectives.comprehensiveness import Comprehensiveness
    from unirex.objectives.plausibility import Plausibility
    from unirex.objectives.sufficiency import Sufficiency

    for criterion in ("margin", "kl"):
        objectives = Objectives(
            comprehensiveness=Comprehensiveness(0.5),
            sufficiency=Sufficiency(0.5, criterion),
            plausibility=Plausibility(0.5),
        )
        model = model_for(encoders("bert"), objectives=objectives)
        batch = question_batch()
        output = model(**batch.tensors())
        three, two = output.logits[:1], output.logits[1:, :2]
        expected = (F.cross_entropy(three, torch.tensor([1])) + F.cross_entropy(two, torch.tensor([0]))) / 2
        torch.testing.assert_close(output.losses["task"], expected, atol=1e-5, rtol=1e-5)
        output.loss.backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
        assert model.extractor.head.weight.grad.abs().sum() > 0


@pytest.mark.parametrize(
    "extractor", ["gradient", "input-x-gradient", "integrated-gradients", "deeplift", "dual-lm", "shared-lm"]
)
def test_each_sequence_is_explained_by_its_own_logit(encoders, extractor):
    model = model_for(encoders("bert"), extractor=extractor)
    with torch.no_grad():
        both = model.step(question_batch()).scores
        first = model.step(question_batch(QUESTIONS[:1])).scores
    torch.testing.assert_close(both[:3, : first.shape[1]], first, atol=1e-5, rtol=1e-4)
    assert (first[0] != first[1]).any()
