"""A fitted system: predict, explain, save, load."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import torch

from unirex.data.example import Example, Label
from unirex.encode import Batch, Encoded, TextEncoder, by_length, collate
from unirex.errors import UserError, one_line
from unirex.explain import explanation
from unirex.explanation import Explanation
from unirex.extractors import build_extractor
from unirex.modeling import RationaleModel
from unirex.models.encoders import PICKLES, check_complete, quiet_transformers
from unirex.select import SELECTORS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

BATCH_SIZE = 32
WINDOW = 1024  # texts read ahead and sorted by length


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
        return TextEncoder(self.tokenizer, config.max_length, self.labels, separators=config.separators)

    def batches(
        self, examples: Sequence[Example], *, batch_size: int = BATCH_SIZE
    ) -> Iterator[tuple[list[int], list[Encoded], Batch]]:
        """The examples in batches of like length: their numbers, tokens and tensors."""
        encoded = self.text_encoder.encode(examples)
        for numbers in by_length([len(one) for one in encoded], batch_size):
            some = [encoded[number] for number in numbers]
            batch = collate(some, self.tokenizer.pad_token_id).to(self.model.device)
            yield numbers, some, batch

    @overload
    def explain(self, texts: str, *, budget: float = ..., selector: str = ...) -> Explanation: ...  # type: ignore[overload-overlap]
    @overload
    def explain(
        self, texts: Iterable[str], *, budget: float = ..., selector: str = ...
    ) -> list[Explanation]: ...
    def explain(
        self, texts: str | Iterable[str], *, budget: float = 20, selector: str = "top-k"
    ) -> Explanation | list[Explanation]:
        """Predict a text, or several, and name the words that decided: `budget` per cent of the tokens."""
        if isinstance(texts, str):
            return next(self.explain_all([as_example(texts, 0)], budget=budget, selector=selector))
        examples = (as_example(text, number) for number, text in enumerate(texts))
        return list(self.explain_all(examples, budget=budget, selector=selector))

    def explain_all(
        self,
        examples: Iterable[Example],
        *,
        budget: float = 20,
        selector: str = "top-k",
        batch_size: int = BATCH_SIZE,
    ) -> Iterator[Explanation]:
        """Explanations in the order of the examples, read in windows: memory stays flat however many."""
        check_budget(budget)
        if selector not in SELECTORS:
            raise UserError(f"unknown selector '{selector}'; known: {', '.join(SELECTORS)}.")
        stream = iter(examples)
        while window := list(islice(stream, WINDOW)):
            found: dict[int, Explanation] = {}
            for numbers, encoded, batch in self.batches(window, batch_size=batch_size):
                chunk = [window[number] for number in numbers]
                found.update(
                    zip(numbers, self._explained(chunk, encoded, batch, budget, selector), strict=True)
                )
            yield from (found[number] for number in range(len(window)))

    def _explained(
        self,
        examples: Sequence[Example],
        encoded: Sequence[Encoded],
        batch: Batch,
        budget: float,
        selector: str,
    ) -> Iterator[Explanation]:
        with evaluating(self.model):
            step = self.model.step(batch)
            selected = SELECTORS[selector](step.scores, batch.selectable, [budget])[0].tolist()
            probabilities, scores = step.full.logits.softmax(-1).tolist(), step.scores.tolist()
        for row, (example, tokens) in enumerate(zip(examples, encoded, strict=True)):
            yield explanation(
                example,
                tokens,
                labels=self.labels,
                probabilities=probabilities[row],
                scores=scores[row],
                selected=selected[row],
                budget=budget,
            )

    def with_extractor(self, name: str, **options: Any) -> System:
        """The same classifier explained by another algorithm, which must have nothing to learn."""
        extractor = build_extractor(name, self.model.config.encoder, options)
        if any(True for _ in extractor.parameters()):
            raise UserError(f"extractor '{name}' must be trained; choose one without parameters.")
        config = type(self.model.config).from_dict(self.model.config.to_dict())
        config.extractor, config.extractor_options = name, options
        config.method = f"{(config.method or 'vanilla').partition(' + ')[0]} + {name}"
        with quiet_transformers():
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
    """A bare text as an example."""
    if not isinstance(text, str):
        raise UserError(f"text {number}: expected a string, got {type(text).__name__}.")
    if not text.strip():
        raise UserError(f"text {number} is empty; there is nothing to classify.")
    return Example(str(number), (text,))


def check_budget(budget: float) -> None:
    """A budget is a share of the tokens in per cent."""
    if not 0 < budget <= 100:
        raise UserError(f"budget {budget}: give a per cent of the tokens, above 0 and up to 100.")


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Eval mode without gradients; the mode is left as it was found."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)
