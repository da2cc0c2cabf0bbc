"""Who learns from what, for every method and stage: the paper's claims as a table of gradients.

One batch of the method's own `fit` is run for each term of its loss, alone; what a term reaches is what has a
gradient after. (For extractors and objectives beside methods: `test_objectives`.)
"""

from dataclasses import fields, replace

import pytest
import torch

import unirex
from planted import planted
from unirex.encoding.batch import collate
from unirex.encoding.packed import WithScores, encode_all
from unirex.methods import method_names, resolve, stages

DATA = planted((8, 4, 4))
WORDS, TASK = {"task words"}, {"task words", "task encoder", "task head"}
OWN = {"extractor encoder", "extractor head"}  # an encoder beside the task model's
FAITHFUL = {"comprehensiveness": TASK, "sufficiency": TASK}  # a hard choice of tokens passes nothing on
PLAIN = {"task": TASK}
SHARED = {"task words", "task encoder", "extractor head"}
A2R = {  # the hard choice teaches the predictor alone; the selector hears from the soft one
    "task": TASK,
    "agreement": TASK | OWN | {"soft head"},
    "soft_task": {"task words", "task encoder"} | OWN | {"soft head"},
}
A2R_UNIREX = {"task": TASK, "agreement": TASK | OWN | {"soft encoder", "soft head"}}

# Of every method: its trainings one after the other, each term of the loss with what it reaches.
MAP = {
    "vanilla": [PLAIN],
    "aa-f": [PLAIN | FAITHFUL],
    "aa-fp": [PLAIN | FAITHFUL | {"plausibility": TASK}],
    "dlm-p": [PLAIN | {"plausibility": OWN}],
    "dlm-fp": [PLAIN | FAITHFUL | {"plausibility": OWN}],
    "slm-p": [PLAIN | {"plausibility": SHARED}],
    "slm-fp": [PLAIN | FAITHFUL | {"plausibility": SHARED}],
    # Ordering teaches the scores: the classifier that teaches is a constant of it.
    "dlm-fpo": [PLAIN | FAITHFUL | {"plausibility": OWN, "ordering": OWN}],
    "slm-fpo": [PLAIN | FAITHFUL | {"plausibility": SHARED, "ordering": SHARED}],
    "sgt": [PLAIN | {"sufficiency": TASK}],
    "sgt-p": [PLAIN | {"sufficiency": TASK, "plausibility": TASK}],
    "l2e": [PLAIN, {"imitation": OWN}],
    "fresh": [PLAIN, {"plausibility": OWN}, PLAIN],
    "fresh-p": [{"plausibility": OWN}, PLAIN],
    "a2r": [A2R],
    "a2r-p": [A2R | {"plausibility": OWN}],
    "hard-kuma": [{"task": TASK | OWN, "sparsity": OWN}],
}
TAUGHT = {"comprehensiveness": TASK | OWN, "sufficiency": TASK | OWN}  # the choice passes it on
FIRST_ORDER = {"extractor_options": {"create_graph": False}}
VARIANTS = {
    "aa-f with DeepLIFT": ("aa-f", {"extractor": "deeplift"}, [PLAIN | FAITHFUL]),
    "aa-f with random scores": ("aa-f", {"extractor": "random"}, [PLAIN | FAITHFUL]),
    "aa-f with gold": ("aa-f", {"extractor": "gold"}, [PLAIN | FAITHFUL]),
    "aa-f with the inverse of gold": ("aa-f", {"extractor": "inverse"}, [PLAIN | FAITHFUL]),
    # T11: as constants, attributions teach the word embeddings they are multiplied by, and nothing else.
    "aa-fp, first order": ("aa-fp", FIRST_ORDER, [PLAIN | FAITHFUL | {"plausibility": WORDS}]),
    "aa-fp, first order, MLP": (
        "aa-fp",
        {"extractor_options": {"create_graph": False, "pooling": "mlp-8-1"}},
        [PLAIN | FAITHFUL | {"plausibility": WORDS | {"extractor head"}}],
    ),
    "aa-fp, MLP": (
        "aa-fp",
        {"extractor_options": {"pooling": "mlp-8-1"}},
        [PLAIN | FAITHFUL | {"plausibility": TASK | {"extractor head"}}],
    ),
    "sgt-p, first order": (
        "sgt-p",
        FIRST_ORDER,
        [PLAIN | {"sufficiency": TASK, "plausibility": WORDS}],
    ),
    "sgt, original": ("sgt", {"sgt": {"variant": "original"}}, [PLAIN | {"sufficiency": TASK}]),
    "sgt-p, original": (
        "sgt-p",
        {"sgt": {"variant": "original"}},
        [PLAIN | {"sufficiency": TASK, "plausibility": TASK}],
    ),
    "l2e, unirex": ("l2e", {"l2e": {"variant": "unirex"}}, [PLAIN, PLAIN | {"imitation": OWN}]),
    "l2e told the label": (
        "l2e",
        {"extractor_options": {"label": True}},
        [PLAIN, {"imitation": OWN | {"extractor labels"}}],
    ),
    "fresh, unirex": ("fresh", {"fresh": {"variant": "unirex"}}, [PLAIN, PLAIN]),
    "a2r, unirex": ("a2r", {"a2r": {"variant": "unirex"}}, [A2R_UNIREX]),
    "a2r-p, unirex": ("a2r-p", {"a2r": {"variant": "unirex"}}, [A2R_UNIREX | {"plausibility": OWN}]),
    "dlm-fp, straight through": (
        "dlm-fp",
        {"selector": "straight_through"},
        [PLAIN | TAUGHT | {"plausibility": OWN}],
    ),
    "dlm-fp, Gumbel": ("dlm-fp", {"selector": "gumbel"}, [PLAIN | TAUGHT | {"plausibility": OWN}]),
    "slm-fp, straight through": (
        "slm-fp",
        {"selector": "straight_through"},
        [PLAIN | dict.fromkeys(FAITHFUL, TASK | {"extractor head"}) | {"plausibility": SHARED}],
    ),
    "a2r, straight through": (  # then the hard predictor teaches the selector as well
        "a2r",
        {"selector": "straight_through"},
        [A2R | {"task": TASK | OWN}],
    ),
}
CASES = {name: (name, {}, reached) for name, reached in MAP.items()} | VARIANTS


def test_every_method_has_its_row():
    assert set(MAP) == set(method_names())


@pytest.mark.parametrize("case", CASES)
def test_what_each_term_of_the_loss_reaches(learner, monkeypatch, case):
    method, settings, expected = CASES[case]
    found = []

    def one_batch_each(model, encoder, data, config, *, given=None, **_):
        found.append(reached_by_term(model, one_batch(encoder, data["train"], given)))

    monkeypatch.setattr(stages, "train", one_batch_each)
    unirex.fit(method, DATA, encoder=str(learner), pooling="mean", progress=False, **settings)
    assert found == expected


@pytest.mark.parametrize("case", [case for case, (_, _, trainings) in CASES.items() if len(trainings) == 1])
def test_every_term_that_has_a_weight_has_a_say(case):
    method, settings, expected = CASES[case]
    active = {name for name, _ in resolve(method, None, settings).objectives.active()}
    assert active == expected[-1].keys()


def one_batch(encoder, examples, given):
    """The examples as the trainer collates them, with scores from an earlier stage if there are any."""
    encoded = encode_all(encoder, examples)
    shown = encoded if given is None else WithScores(encoded, given["train"])
    return collate([shown[number] for number in range(len(shown))], encoder.tokenizer.pad_token_id)


def reached_by_term(model, batch):
    """For every term of the loss that has a weight, the parts of the model with a gradient after it alone."""
    found, every = {}, model.objectives
    model.train()
    for name, _ in every.active():
        model.objectives = alone(every, name)
        model.zero_grad(set_to_none=True)
        torch.manual_seed(0)
        model(**batch.tensors()).loss.backward()
        found[name] = {part_of(key) for key, value in model.named_parameters() if has_gradient(value)}
    model.objectives = every
    model.zero_grad(set_to_none=True)
    model.eval()
    return found


def alone(objectives, name):
    others = {one.name: replace(getattr(objectives, one.name), weight=0.0) for one in fields(objectives)}
    return replace(objectives, **{**others, name: getattr(objectives, name)})


def has_gradient(value):
    return value.grad is not None and bool(value.grad.abs().max() > 0)


def part_of(name):
    """What a parameter belongs to, such as `task words` or `extractor encoder`."""
    owner, _, rest = name.partition(".")
    if owner == "task" and "word_embeddings" in rest:
        return "task words"
    if owner == "task":
        return "task encoder" if rest.startswith("encoder.") else "task head"
    if rest.startswith("soft_"):
        return "soft encoder" if rest.startswith("soft_reader.") else "soft head"
    if rest.startswith("labels."):
        return "extractor labels"
    return "extractor encoder" if rest.startswith("encoder.") else "extractor head"
