"""Any Hugging Face sequence classifier as a system: loaded as it is, explained, never trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from unirex.data.example import Example, Label
from unirex.encoding.batch import collate
from unirex.encoding.encode import TextEncoder
from unirex.encoding.sequence import Frame
from unirex.errors import UserError, one_line
from unirex.models.classifier import Classifier
from unirex.models.encoders import (
    SAFE,
    align_weights,
    check_files,
    check_finite,
    check_numbers,
    load_problem,
    quiet_transformers,
)
from unirex.models.labelling import build_labelling
from unirex.models.task import longest_input

SAMPLES = (("a film",), ("a film about people", "it is not long"))  # a text and a pair, of unlike length
COMPLETE: dict[str, Any] = {  # what does not fit is reported by `load_classifier`
    "dtype": "float32",
    "output_loading_info": True,
    "ignore_mismatched_sizes": True,
}
UNLIMITED = 512  # tokens read by a model that states no limit
TOLERANCE = 1e-4  # between logits from word embeddings and from tokens, relative to the largest


@dataclass(frozen=True)
class WrappedClassifier:
    """A third-party classifier with everything a system needs to know about it."""

    task: Classifier
    tokenizer: Any
    name: str  # of its folder, or its Hub id
    labels: tuple[Label, ...]  # in the order of the logits
    max_length: int


def wrap_classifier(place: str, *, labels: Sequence[Label] | None = None) -> WrappedClassifier:
    """The classifier in a folder or on the Hub as a task model.

    Args:
        place: a folder or a Hub id.
        labels: names of the classes in the order of the logits, if not as the model itself says.
    """
    classifier, tokenizer = load_classifier(place)
    check_readable(place, classifier, tokenizer)
    name = Path(place).resolve().name if Path(place).is_dir() else place
    config, encoder = classifier.config, classifier.base_model
    config._name_or_path = name  # not its path on this machine
    length = read_length(encoder, tokenizer)
    task = Classifier(
        classifier,
        frame=Frame.of(tokenizer),
        types=has_token_types(config, tokenizer),
        window=length,
        labelling=build_labelling(config.problem_type),
    )
    names = class_names(place, config, labels)
    with quiet_transformers():
        check_same_logits(place, task.eval(), tokenizer, length)
    return WrappedClassifier(task, tokenizer, name, names, length)


def load_classifier(place: str) -> tuple[Any, Any]:
    """The model in single precision with every weight from the file, and its tokenizer."""
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    with quiet_transformers():
        try:
            config = AutoConfig.from_pretrained(place, **SAFE)
            check_numbers(place, config)
            check_task(place, config)
            check_files(place)
            load: Any = AutoModelForSequenceClassification.from_pretrained
            model, info = load(place, use_safetensors=True, **COMPLETE, **SAFE)
            tokenizer = AutoTokenizer.from_pretrained(place, **SAFE)
        except UserError:
            raise
        except Exception as error:  # whatever a damaged file leads to; tokenizers raises no other kind
            raise UserError(f"{place}: could not be loaded as a classifier: {load_problem(error)}") from error
    wrong = sorted([*info["missing_keys"], *(name for name, *_shapes in info["mismatched_keys"])])
    if wrong:
        raise UserError(f"{place}: weights are missing or misshapen and would be random: '{wrong[0]}'.")
    check_finite(place, model)
    align_weights(model)
    return model.eval(), tokenizer


def check_task(place: str, config: Any) -> None:
    """Refuse models that are no classifiers."""
    made = config.architectures or []
    if made and not any(name.endswith("ForSequenceClassification") for name in made):
        raise UserError(
            f"{place}: not a unirex system, nor a classifier: a {made[0]} has no classification head, and a "
            f"new one would be random; train a system on it: unirex train --encoder {place}"
        )
    if config.problem_type == "regression" or config.num_labels < 2:
        raise UserError(f"{place}: gives a number, not a label (regression); only classifiers are explained.")
    if config.is_encoder_decoder:
        raise UserError(
            f"{place}: {config.model_type} has a decoder; only encoders such as BERT are explained."
        )


def check_readable(place: str, classifier: Any, tokenizer: Any) -> None:
    """Refuse models that do not read in both directions, and tokenizers without offsets or padding."""
    if not tokenizer.is_fast:
        raise UserError(
            f"{place}: tokenizer {type(tokenizer).__name__} gives no character offsets; save a fast one "
            "there (a tokenizer.json)."
        )
    rows = classifier.get_input_embeddings().weight.shape[0]
    if not 5 < len(tokenizer) <= rows:
        raise UserError(
            f"{place}: its tokenizer has {len(tokenizer)} tokens, the model {rows}; save the tokenizer it "
            f"was trained with there: tokenizer.save_pretrained('{place}')"
        )
    if _run(place, lambda: reads_left_to_right(classifier.base_model)):
        raise UserError(
            f"{place}: {classifier.config.model_type} reads from left to right and takes its label from the "
            "last token; only encoders such as BERT are explained."
        )
    if tokenizer.pad_token_id is None:
        raise UserError(
            f"{place}: its tokenizer has no pad token; name the one it was trained with: "
            "tokenizer.pad_token = '[PAD]', then save_pretrained."
        )
    if classifier.config.pad_token_id is None:
        classifier.config.pad_token_id = tokenizer.pad_token_id


@torch.no_grad()
def reads_left_to_right(encoder: Any) -> bool:
    """Whether the first token never sees the last, as in GPT: tried on four vectors."""
    table = encoder.get_input_embeddings().weight
    words = torch.randn(1, 4, table.shape[1], generator=torch.Generator().manual_seed(0)).to(table)
    other = words.clone()
    other[0, -1] += 1
    mask = torch.ones(1, 4, dtype=torch.long, device=table.device)
    first, second = (
        encoder(inputs_embeds=embeds, attention_mask=mask).last_hidden_state[0, 0]
        for embeds in (words, other)
    )
    return bool(torch.equal(first, second))


def class_names(place: str, config: Any, given: Sequence[Label] | None) -> tuple[Label, ...]:
    """The names of the classes in the order of the logits: as given, or the model's own."""
    names = tuple(config.id2label[number] for number in range(config.num_labels)) if given is None else given
    if len(names) != config.num_labels:
        raise UserError(
            f"labels {list(names)}: {len(names)} names, but {place} has {config.num_labels} classes: "
            f"{', '.join(map(str, config.id2label.values()))}."
        )
    if len(set(names)) < len(names):
        raise UserError(f"{place}: two classes have one name ({', '.join(map(str, names))}); give labels.")
    return tuple(names)


def read_length(encoder: Any, tokenizer: Any) -> int:
    """Tokens read of a text: as many as there are positions, at most the tokenizer's own limit."""
    positions = longest_input(encoder)
    return min(positions if positions > 0 else UNLIMITED, tokenizer.model_max_length)


def has_token_types(config: Any, tokenizer: Any) -> bool:
    """Whether token types distinguish the texts of a pair: the tokenizer gives them, the model has two."""
    return "token_type_ids" in tokenizer("a", "b") and (getattr(config, "type_vocab_size", None) or 0) > 1


@torch.no_grad()
def check_same_logits(place: str, task: Classifier, tokenizer: Any, max_length: int) -> None:
    """Refuse a model whose logits here differ from its own, tried on a text and a pair."""
    encoder = TextEncoder(tokenizer, max_length)
    examples = [Example(str(number), texts) for number, texts in enumerate(SAMPLES)]
    batch = collate(encoder.encode(examples), tokenizer.pad_token_id)
    types = task.types
    own = [tokenizer(*texts, return_tensors="pt", return_token_type_ids=types) for texts in SAMPLES]
    expected = _run(place, lambda: torch.cat([task.classifier(**inputs).logits for inputs in own]))
    logits = _run(place, lambda: task.states(batch)[1])
    far = (logits - expected).abs().max() / expected.abs().max().clamp(min=1)
    if not far <= TOLERANCE:
        raise UserError(
            f"{place}: read from padded word embeddings, this {task.classifier.config.model_type} model "
            f"gives other logits than by itself (by {far:.2g}); it cannot be explained here."
        )


def _run(place: str, work: Any) -> Any:
    """The result of a pass; a model that does not take word embeddings cannot be explained."""
    try:
        return work()
    except (TypeError, ValueError, RuntimeError, AttributeError, NotImplementedError, IndexError) as error:
        raise UserError(f"{place}: does not run on word embeddings: {one_line(error)}") from error
