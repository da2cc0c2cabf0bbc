"""Sets of labels: what their logits mean, and the losses against arithmetic on each text and label."""

import numpy as np
import pytest
import torch

import tiny
from unirex.data.example import Example
from unirex.encoding.batch import collate
from unirex.encoding.encode import TextEncoder
from unirex.encoding.packed import Encodings
from unirex.errors import UserError
from unirex.models.labelling import LabelSet, OneLabel
from unirex.objectives import Objectives
from unirex.objectives.comprehensiveness import Comprehensiveness
from unirex.objectives.sufficiency import Sufficiency

LABELS = ("acting", "plot", "sound")
SETS = (("acting", "sound"), (), ("plot",), ("acting", "plot", "sound"))
WEIGHTS = (2.0, 0.5, 3.0)
TEXTS = tiny.SENTENCES[:4]


def sets_batch(folder):
    """Four texts with two, no, one and all labels."""
    from transformers import AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)
    encoder = TextEncoder(tokens, tiny.POSITIONS - 2, LABELS, multi_label=True)
    examples = [Example(str(number), (text,), SETS[number]) for number, text in enumerate(TEXTS)]
    return collate(list(Encodings.of(encoder.encode(examples))), tokens.pad_token_id), encoder


def sets_model(folder, **settings):
    """A system with one logit a label, its heads random and large."""
    from unirex.config import Config
    from unirex.modeling import RationaleModel

    torch.manual_seed(1)
    config = Config(encoder=str(folder), budgets=(20, 50), class_weights=WEIGHTS, **settings)
    model = RationaleModel.from_encoder(config, LABELS, multi_label=True)
    tiny.shaken(model.task.head, seed=1)
    tiny.shaken(model.extractor.head, seed=2)
    return model.eval()


def log_sigmoid(value: float) -> float:
    return -float(np.logaddexp(0, -value))


def test_predictions_are_the_labels_above_the_threshold():
    logits = torch.tensor([[2.0, -2.0, 0.0], [-1.0, -1.0, -3.0]])  # p = .88 .12 .5
    assert LabelSet().predicted(logits) == [(0, 2), ()]
    assert LabelSet(0.6).predicted(logits) == [(0,), ()]
    assert OneLabel().predicted(logits) == [0, 0]
    torch.testing.assert_close(LabelSet().probabilities(logits), 1 / (1 + (-logits).exp()))


def test_the_explained_label_is_one_of_the_texts_own():
    gold = torch.tensor([[False, True, True], [False, False, False]]).expand(200, 2, 3).reshape(400, 3)
    torch.manual_seed(0)
    drawn = LabelSet().target(gold, drawn=True).view(200, 2)
    assert set(drawn[:, 0].tolist()) == {1, 2} and set(drawn[:, 1].tolist()) == {0, 1, 2}
    assert LabelSet().target(gold, drawn=False)[:2].tolist() == [1, 0]


@torch.no_grad()
def test_losses_are_those_of_each_text_and_label(encoders):
    """Task: all labels; faithfulness: the explained one, on what the step shows of the text."""
    batch, _ = sets_batch(encoders("bert"))
    assert batch.labels.tolist() == [[label in labels for label in LABELS] for labels in SETS]
    objectives = Objectives(comprehensiveness=Comprehensiveness(1.0), sufficiency=Sufficiency(1.0))
    model = sets_model(encoders("bert"), objectives=objectives)
    target = torch.tensor([2, 0, 1, 1])
    step = model.step(batch, target=target)

    def cross_entropy(logit, label, given):  # given labels are weighted, as by `pos_weight`
        return -WEIGHTS[label] * log_sigmoid(logit) if given else -log_sigmoid(-logit)

    def answer(logits, row):
        return sum(cross_entropy(logits[n], n, LABELS[n] in SETS[row]) for n in range(3))

    def explained(logits, row):
        label = int(target[row])
        return cross_entropy(logits[label], label, True) if LABELS[label] in SETS[row] else 0.0

    full, kept, dropped = (part.tolist() for part in (step.logits, step.kept_logits, step.dropped_logits))
    near = {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(
        step.task_loss, torch.tensor([answer(full[row], row) for row in range(4)]), **near
    )
    for row in range(4):
        whole = explained(full[row], row)
        comp = [max(whole - explained(view[row], row), -1) + 1 for view in dropped]
        suff = [max(explained(view[row], row) - whole, -0.1) + 0.1 for view in kept]
        assert float(Comprehensiveness(1.0)(step)[row]) == pytest.approx(np.mean(comp), rel=1e-4, abs=1e-5)
        assert float(Sufficiency(1.0)(step)[row]) == pytest.approx(np.mean(suff), rel=1e-4, abs=1e-5)
    # Divergence: the sum over labels of that between two coins.
    p, q = (torch.tensor(part).double().sigmoid() for part in (kept, full))
    coins = (p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()).sum(-1).mean(0)
    torch.testing.assert_close(Sufficiency(1.0, criterion="kl")(step).double(), coins, **near)


def test_one_forward_trains_all_terms(encoders):
    batch, _ = sets_batch(encoders("bert"))
    objectives = Objectives(comprehensiveness=Comprehensiveness(0.5), sufficiency=Sufficiency(0.5))
    model = sets_model(encoders("bert"), objectives=objectives, extractor_options={"per_label": True})
    output = model(**batch.tensors())
    assert set(output.losses) == {"task", "comprehensiveness", "sufficiency"}
    output.loss.backward()
    assert model.task.head.weight.grad.abs().sum() > 0


def test_a_list_of_labels_is_for_systems_of_sets(encoders):
    _, encoder = sets_batch(encoders("bert"))
    with pytest.raises(
        UserError, match="example x has one label; this system was trained on data with a list"
    ):
        encoder.gold(Example("x", ("a",), "plot"))
    with pytest.raises(UserError, match="'music' is not one this system knows"):
        encoder.gold(Example("x", ("a",), ("music",)))
    single = TextEncoder(encoder.tokenizer, 50, LABELS)
    with pytest.raises(UserError, match="example x has a list of labels; this system was trained"):
        single.gold(Example("x", ("a",), ("plot",)))
