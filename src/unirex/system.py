"""A fitted system: predict, explain, save, load."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import torch

from unirex.batch import Batch, Encoded
from unirex.data.choices import parse_choices
from unirex.data.example import Example, Label, choice_label
from unirex.data.validate import at, check_text
from unirex.encode import TextEncoder
from unirex.errors import UserError, one_line
from unirex.explain import explanations
from unirex.explanation import Explanation
from unirex.extractors import build_extractor
from unirex.modeling import RationaleModel
from unirex.models.encoders import PICKLES, check_complete, quiet_transformers
from unirex.select import SELECTORS
from unirex.streaming import BATCH_SIZE, Advance, Answer, stream

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Text = str | tuple[str, ...] | Mapping[str, Any] | Example  # what can be explained
T = TypeVar("T")


@dataclass(frozen=True)
class System:
    """A text classifier that shows its reasons."""

    model: RationaleModel
    tokenizer: PreTrainedTokenizerBase

    @property
    def labels(self) -> tuple[Label, ...]:
        """What it can answer, in the order of its logits."""
        return tuple(self.model.config.labels)

    @property
    def name(self) -> str:
        """The method it was trained with, and who explains it if that says nothing."""
        method = self.model.config.method or "vanilla"
        return f"vanilla + {self.model.config.extractor}" if method == "vanilla" else method

    @property
    def text_encoder(self) -> TextEncoder:
        """How it reads texts."""
        config = self.model.config
        return TextEncoder(
            self.tokenizer,
            config.max_length,
            self.labels,
            separators=config.separators,
            truncation=config.truncation,
            layout=config.built_layout(),
        )

    def answers(self, count: int) -> tuple[Label, ...]:
        """What so many logits stand for: the labels, or the letters of so many choices."""
        if not self.model.config.built_layout().choice:
            return self.labels
        return tuple(choice_label(number) for number in range(count))

    def stream(
        self,
        examples: Iterable[Example],
        answer: Answer[T],
        *,
        batch_size: int = BATCH_SIZE,
        advance: Advance | None = None,
    ) -> Iterator[T]:
        """What `answer` makes of each example, in the order of the examples: see `unirex.streaming`."""
        encoder = self.text_encoder
        return stream(self.model, encoder, examples, answer, batch_size=batch_size, advance=advance)

    @overload
    def explain(  # type: ignore[overload-overlap]
        self, texts: Text, *, budget: float = ..., selector: str = ...
    ) -> Explanation: ...
    @overload
    def explain(
        self, texts: Iterable[Text], *, budget: float = ..., selector: str = ...
    ) -> list[Explanation]: ...
    def explain(
        self, texts: Text | Iterable[Text], *, budget: float = 20, selector: str = "top-k"
    ) -> Explanation | list[Explanation]:
        """Predict a text, or several, and name the words that decided: `budget` per cent of the tokens.

        A text is a string; a pair or more is a tuple of strings; with choices it is an `Example`, or a
        dictionary like `{"text": "Where do fish live?", "choices": ["sea", "sky"]}`.
        """
        if isinstance(texts, str | tuple | Mapping | Example):
            return next(self.explain_all([texts], budget=budget, selector=selector))
        return list(self.explain_all(texts, budget=budget, selector=selector))

    def explain_all(
        self,
        texts: Iterable[Text],
        *,
        budget: float = 20,
        selector: str = "top-k",
        batch_size: int = BATCH_SIZE,
        advance: Advance | None = None,
    ) -> Iterator[Explanation]:
        """Explanations one by one in the order of the texts, however many: see `stream`."""
        check_budget(budget)
        if selector not in SELECTORS:
            raise UserError(f"unknown selector '{selector}'; known: {', '.join(SELECTORS)}.")

        def explained(
            some: Sequence[Example], encoded: Sequence[Encoded], batch: Batch
        ) -> Iterator[Explanation]:
            step = self.model.step(batch)
            selected = SELECTORS[selector](step.scores, batch.selectable, [budget])[0]
            return explanations(step, selected, some, encoded, answers=self.answers, budget=budget)

        examples = (as_example(text, number) for number, text in enumerate(texts))
        return self.stream(examples, explained, batch_size=batch_size, advance=advance)

    def with_extractor(self, name: str, **options: Any) -> System:
        """The same classifier explained by another algorithm, which must have nothing to learn."""
        extractor = build_extractor(name, self.model.config.encoder, options)
        if any(True for _ in extractor.parameters()):
            raise UserError(f"extractor '{name}' must be trained; choose one without parameters.")
        config = type(self.model.config).from_dict(self.model.config.to_dict())
        config.extractor, config.extractor_options = name, options
        config.method = f"{(config.method or 'vanilla').partition(' + ')[0]} + {name}"
        with quiet_transformers(), torch.device("meta"):  # no weights of its own: both parts are there
            model = RationaleModel(config)
        model.task, model.extractor = self.model.task, extractor
        return System(model.eval(), self.tokenizer)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the system to a folder that `unirex.load` and `transformers.pipeline` read."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target, prefix=".saving-") as draft, quiet_transformers():
            self.model.save_pretrained(draft)
            self.tokenizer.save_pretrained(draft)
            # config.json last: its presence says that the rest is there.
            for file in sorted(Path(draft).iterdir(), key=lambda path: path.name == "config.json"):
                shutil.move(file, target / file.name)


def load(folder: str | Path, *, device: str | None = None) -> System:
    """The system saved in a folder (or on the Hub under this id)."""
    from transformers import AutoTokenizer

    path = check_saved(folder)
    with quiet_transformers():
        try:
            loader: Any = RationaleModel.from_pretrained
            model, found = loader(path, use_safetensors=True, output_loading_info=True)
            tokenizer = AutoTokenizer.from_pretrained(path)
        except (OSError, ValueError, RuntimeError) as error:
            raise UserError(f"{folder}: could not be loaded as a unirex system: {one_line(error)}") from error
    check_complete(str(folder), found)
    model.eval()
    if device:
        model.to(torch.device(device))
    return System(model, tokenizer)


def check_saved(folder: str | Path) -> str:
    """The folder, if a system of this library can be in it."""
    import json

    path = Path(folder).expanduser()
    if path.is_file() and path.suffix in PICKLES:
        raise UserError(
            f"{path}: pickled models are never loaded (they can run code); give a folder of safetensors."
        )
    if path.is_file():
        raise UserError(f"{path}: a system is a folder, as `unirex train --out` writes it, not a file.")
    if not path.exists():
        if len(path.parts) == 2 and not path.is_absolute() and not path.parent.exists():
            return str(folder)  # may be a Hub id; `runs/typo` is not
        raise UserError(f"{path}: no such folder; train a system first: unirex train --out {path}")
    if not (path / "config.json").is_file():
        unfinished = (path / "checkpoints").is_dir()
        hint = "its training is not finished: unirex train --resume" if unfinished else "no config.json in it"
        raise UserError(f"{path}: not a unirex system ({hint}).")
    try:
        kind = json.loads((path / "config.json").read_text("utf-8")).get("model_type")
    except (ValueError, AttributeError) as error:
        raise UserError(f"{path / 'config.json'}: not valid JSON ({error}).") from error
    if kind != "unirex":
        raise UserError(f"{path}: a '{kind}' model, not a unirex system; use it as --encoder instead.")
    if not list(path.glob("*.safetensors")):
        raise UserError(f"{path}: no model.safetensors in it; pickled weights are never loaded.")
    return str(path)


def as_example(text: object, number: int) -> Example:
    """A bare text, several segments, or a dictionary with choices, as an example."""
    if isinstance(text, Example):
        return text
    if isinstance(text, Mapping):
        segments, choices = _given(text, number)
    else:
        segments, choices = text, None
    segments = segments if isinstance(segments, tuple | list) else (segments,)
    with at(f"text {number}"):
        checked = tuple(check_text(one, blank=len(segments) > 1) for one in segments)
        if not any(one.strip() for one in checked):
            raise UserError("there is nothing to classify in it.")
        return Example(str(number), checked, choices=parse_choices(choices, column="choices"))


def _given(text: Mapping[str, Any], number: int) -> tuple[Any, Any]:
    """Segments and choices of a dictionary."""
    named = [text[key] for key in ("text", "text_pair") if key in text]
    known = {"text", "text_pair", "segments", "choices"}
    if not text.keys() <= known or bool(named) == ("segments" in text):
        raise UserError(
            f"text {number}: give text (and text_pair) or segments, and choices if there are any."
        )
    return text.get("segments", named), text.get("choices")


def check_budget(budget: float) -> None:
    """A budget is a share of the tokens in per cent."""
    if not 0 < budget <= 100:
        raise UserError(f"budget {budget}: give a per cent of the tokens, above 0 and up to 100.")
