"""A fitted system: predict, explain, stream, save, load."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, overload

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import Tensor

from unirex.config import EXPLAINED_BUDGET, check_budget
from unirex.data.example import (
    SHOWN_LABELS,
    Answer,
    Example,
    Label,
    answer_labels,
    choice_label,
    label_set,
    numbered_answer,
)
from unirex.data.formats.objects import inputs_of
from unirex.data.formats.table import parse_choices
from unirex.data.validate import at, check_text
from unirex.encoding.batch import Batch, Encoded, collate
from unirex.encoding.batching import TOKENS, by_length
from unirex.encoding.encode import TextEncoder
from unirex.errors import UserError, one_line, unknown
from unirex.explanation import Explanation, RationaleRule, check_names, explanations
from unirex.extractors import LABEL_FREE, build_extractor, check_dial, extractor_name, option_names
from unirex.files import Advance, Progress, check_sums, new_draft, write_sums
from unirex.modeling import SETTINGS, RationaleConfig, RationaleModel
from unirex.models.classifier import Classifier
from unirex.models.encoders import (
    SAFE,
    check_complete,
    check_files,
    check_finite,
    check_numbers,
    load_problem,
    quiet_transformers,
)
from unirex.models.labelling import LabelSet
from unirex.models.saved import check_saved, saved_kind
from unirex.models.wrapping import wrap_classifier
from unirex.registry import late
from unirex.select import budget_counts, reasons
from unirex.step import Step

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

BATCH_SIZE = 32
WINDOW = 1024  # texts read ahead and sorted by length
POST_HOC_EXTRACTOR = "integrated-gradients"  # of classifiers that were not trained here
POST_HOC_OPTIONS = {"steps": 20}  # Sundararajan et al. 2017: 20 to 300 steps

KINDS_OF_SETTINGS: dict[Any, str] = {bool: "true or false", str: "text", (int, float): "a number"}
T = TypeVar("T")
Text = str | tuple[str, ...] | Mapping[str, Any] | Example  # what can be explained
ColumnNames = Mapping[str, str] | None  # names of columns by role, where they are not the usual ones
BatchAnswers = Callable[[Sequence[Example], Sequence[Encoded], Batch], Iterable[T]]  # one per example


class ExplainOptions(TypedDict, total=False):
    """How a text is explained; see `System.explain`."""

    budget: float | None
    selector: str | None
    unit: str | None
    target: Label | None
    contrast: tuple[Label, Label] | None
    dial: float | None
    blend: float | None


@dataclass(frozen=True)
class System:
    """A text classifier that shows its reasons."""

    model: RationaleModel
    tokenizer: PreTrainedTokenizerBase

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels in the order of the logits."""
        return tuple(self.model.config.labels)

    @property
    def name(self) -> str:
        """The method it was trained with; for plain classifiers, also the extractor."""
        method = self.model.config.method or "vanilla"
        return f"vanilla + {self.model.config.extractor}" if method == "vanilla" else method

    @property
    def encoder_name(self) -> str:
        """Where its encoder came from, or else the family it is of."""
        encoder = self.model.config.encoder
        return getattr(encoder, "_name_or_path", "") or encoder.model_type

    def __repr__(self) -> str:
        return (
            f"<System {self.name}: {', '.join(f'{name} {value}' for name, value in self._facts().items())}>"
        )

    def _repr_html_(self) -> str:
        return late("unirex.report.notebook:facts")(self.name, self._facts())

    def _facts(self) -> dict[str, str]:
        """What a person wants to know of it at a glance."""
        config, shown = self.model.config, ", ".join(map(repr, self.labels[:SHOWN_LABELS]))
        return {
            "labels": shown + ", …" * (len(self.labels) > SHOWN_LABELS),
            "extractor": str(config.extractor),
            "encoder": self.encoder_name,
            "tokens": f"up to {config.max_length}",
            "parameters": f"{sum(parameter.numel() for parameter in self.model.parameters()):,}",
            "device": str(self.model.device),
        }

    @property
    def wrapped(self) -> bool:
        """Whether it is a third-party classifier, not trained here: see `unirex.models.wrapping`."""
        return isinstance(self.model.task, Classifier)

    @property
    def multi_label(self) -> bool:
        """Whether a text gets any number of labels, not exactly one."""
        return isinstance(self.model.task.labelling, LabelSet)

    @property
    def text_encoder(self) -> TextEncoder:
        """How it turns texts into tokens."""
        config = self.model.config
        return TextEncoder(
            self.tokenizer,
            config.max_length,
            self.labels,
            separators=config.separators,
            truncation=config.truncation,
            layout=config.built_layout(),
            multi_label=self.multi_label,
        )

    @overload
    def explain(  # type: ignore[overload-overlap]
        self, texts: Text, *, progress: bool = False, **options: Unpack[ExplainOptions]
    ) -> Explanation: ...
    @overload
    def explain(
        self,
        texts: Iterable[Text],
        *,
        columns: ColumnNames = None,
        progress: bool = False,
        **options: Unpack[ExplainOptions],
    ) -> list[Explanation]: ...
    def explain(
        self,
        texts: Text | Iterable[Text],
        *,
        columns: ColumnNames = None,
        progress: bool = False,
        **options: Unpack[ExplainOptions],
    ) -> Explanation | list[Explanation]:
        """Predict a text, or several, and name the words that decided: `budget` per cent of the tokens.

        A text is a string; a pair or more is a tuple of strings; with choices it is an `Example`, or a
        dictionary like `{"text": "Where do fish live?", "choices": ["sea", "sky"]}`.

        Args:
            texts: one or several; a frame, a dataset or rows as dictionaries, with a column `text`.
            columns: other names of its columns: `{"text": "review"}`.
            progress: show progress on standard error, or in the notebook.
            options: `budget`, by default 20 (a system that predicts from its rationale names what it read);
                `selector`; `unit`, what the rationale is made of: word, token or sentence; `target`, the
                label to give reasons for, by default the predicted one; `contrast`, two labels: reasons for
                the first rather than the second; `dial` and `blend`, as in `with_dial` and `with_blend`.
        """
        target = options.get("target")
        others: dict[str, Any] = {name: value for name, value in options.items() if name != "target"}
        targets = () if target is None else (target,)
        given = inputs_of(texts, columns)
        if _is_one(given):
            return next(self.explain_all([given], targets=targets, **others))
        total = len(given) if isinstance(given, Sized) else None
        with Progress("explaining", total=total, shown=progress) as shown:
            return list(self.explain_all(given, targets=targets, advance=shown.advance, **others))

    def explain_all(
        self,
        texts: Iterable[Text],
        *,
        budget: float | None = None,
        selector: str | None = None,
        unit: str | None = None,
        targets: Sequence[Label] | Literal["predicted"] = (),
        contrast: tuple[Label, Label] | None = None,
        dial: float | None = None,
        blend: float | None = None,
        batch_size: int = BATCH_SIZE,
        advance: Advance | None = None,
    ) -> Iterator[Explanation]:
        """Explanations one by one, in the order of the texts, in constant memory: see `stream`.

        With several `targets` each text has one explanation for each of these labels, from the same pass.
        With "predicted" it has one for each label that is predicted, the most probable first; of none, and
        without `targets`, one for the most probable.
        """
        system = self if dial is None else self.with_dial(dial)
        system = system if blend is None else system.with_blend(blend)
        if contrast is not None and targets:
            raise UserError("give a contrast or a label to explain, not both.")
        numbers: Sequence[Sequence[int]] | Literal["predicted"] = "predicted"
        if contrast is not None:
            numbers = [system.contrast_numbers(*contrast)]
        elif targets != "predicted":
            numbers = [[system.label_number(target)] for target in targets]
        rule = system.rationale_rule(budget, selector, unit, contrasts=contrast is not None)
        yield from system.explain_by(rule, texts, numbers, batch_size=batch_size, advance=advance)

    def explain_by(
        self,
        rule: RationaleRule,
        texts: Iterable[Text],
        targets: Sequence[Sequence[int]] | Literal["predicted"] = (),
        *,
        batch_size: int = BATCH_SIZE,
        advance: Advance | None = None,
    ) -> Iterator[Explanation]:
        """Explanations by a rule; `targets` are numbers of labels, one each, or two for a contrast."""
        each = targets == "predicted"

        def explained(
            examples: Sequence[Example], encoded: Sequence[Encoded], batch: Batch
        ) -> Iterator[tuple[Explanation, ...]]:
            step = self.model.step(batch)
            asked = [] if targets == "predicted" else [_repeated(numbers, batch) for numbers in targets]
            if each and self.multi_label and self.scores_by_label:
                asked = predicted_targets(step)
            steps = [replace(step, given_target=target) for target in asked] or [step]
            parts = [self.batch_explanations(step, rule, examples, encoded) for step in steps]
            groups = zip(*parts, strict=True)
            return (
                (group[: max(1, len(answer_labels(group[0].label)))] for group in groups) if each else groups
            )

        examples = (as_example(text, number) for number, text in enumerate(texts))
        for group in self.stream(examples, explained, batch_size=batch_size, advance=advance):
            yield from group

    def batch_explanations(
        self, step: Step, rule: RationaleRule, examples: Sequence[Example], encoded: Sequence[Encoded]
    ) -> Iterator[Explanation]:
        """The explanation of every example of a batch by a rule."""
        selectable = step.batch.selectable
        return explanations(
            step,
            reasons(step.scores, selectable, rule),
            budget_counts(selectable.sum(-1), rule.budget),
            examples,
            encoded,
            label_names=self.label_names,
            rule=rule,
        )

    @property
    def scores_by_label(self) -> bool:
        """Whether each label has scores of its own."""
        config = self.model.config
        if config.predict_from == "rationale":
            return False
        return config.extractor not in LABEL_FREE or bool(config.extractor_options.get("per_label"))

    @overload
    def predict(self, texts: Text, *, progress: bool = False) -> Answer: ...  # type: ignore[overload-overlap]
    @overload
    def predict(
        self, texts: Iterable[Text], *, columns: ColumnNames = None, progress: bool = False
    ) -> list[Answer]: ...
    def predict(
        self, texts: Text | Iterable[Text], *, columns: ColumnNames = None, progress: bool = False
    ) -> Answer | list[Answer]:
        """The label of a text, or of several; nothing is explained, so it takes one pass.

        Where a text gets a set of labels, it is a tuple of them.

        Args:
            texts: as for `explain`.
            columns: as for `explain`.
            progress: show progress on standard error, or in the notebook.
        """
        several, examples = _as_examples(texts, columns)
        answers = [answer for answer, _ in self._predicted(examples, progress)]
        return answers if several else answers[0]

    def predict_proba(
        self, texts: Text | Iterable[Text], *, columns: ColumnNames = None, progress: bool = False
    ) -> np.ndarray:
        """The probabilities of the `labels`: [texts, labels], or [labels] for a single text.

        With choices the columns are their letters, and a letter that a text does not have gets 0.
        """
        several, examples = _as_examples(texts, columns)
        rows = [row for _, row in self._predicted(examples, progress)]
        table = np.zeros((len(rows), max(map(len, rows), default=len(self.labels))), dtype=np.float32)
        for number, row in enumerate(rows):
            table[number, : len(row)] = row
        return table if several else table[0]

    def score(self, texts: Iterable[Text], labels: Iterable[Any], *, progress: bool = False) -> float:
        """The accuracy: the share of the texts whose label, or whole set of labels, is predicted."""
        _, examples = _as_examples(texts)
        gold = [label_set(answer) if isinstance(answer, list | tuple | set) else answer for answer in labels]
        if not gold or len(examples) != len(gold):
            raise UserError(
                f"score: {len(examples)} texts and {len(gold)} labels; give a label for each text."
            )
        if self.multi_label and not all(isinstance(answer, tuple) for answer in gold):
            raise UserError("score: this system predicts sets of labels; give a list for each text.")
        given = [label for answer in gold for label in answer_labels(answer)]
        if given and not self.model.config.built_layout().choice and not set(given) & set(self.labels):
            raise unknown("label", given[0], self.labels)  # else 1 for "1" would be a score of 0
        predicted = self.predict(examples, progress=progress)
        return sum(found == answer for found, answer in zip(predicted, gold, strict=True)) / len(gold)

    def _predicted(
        self, examples: Sequence[Example], progress: bool
    ) -> Iterator[tuple[Answer, NDArray[np.float32]]]:
        """The answer to each example, and the probabilities of all labels, or of its choices."""

        def answer(_: Sequence[Example], encoded: Sequence[Encoded], batch: Batch) -> Iterator[Any]:
            return self.batch_predictions(encoded, batch)

        with Progress("predicting", total=len(examples), shown=progress) as shown:
            yield from self.stream(examples, answer, advance=shown.advance)

    def batch_predictions(
        self, encoded: Sequence[Encoded], batch: Batch
    ) -> Iterator[tuple[Answer, NDArray[np.float32]]]:
        """The answer to each example of a batch, and the probabilities of all labels, or of its choices."""
        budgets = [max(self.model.config.budgets)]  # enough for systems that predict from their rationale
        step = self.model.step(batch, budgets=budgets, views=("kept",))
        numbers, rows = step.predicted, step.labelling.probabilities(step.logits)
        for found, row, item in zip(numbers, rows.cpu().numpy(), encoded, strict=True):
            labels = self.label_names(len(item.sequences))
            yield numbered_answer(found, labels), row[: len(labels)]

    def label_number(self, label: Label) -> int:
        """The number of the logit of a label, given as itself or as text; of choices, of its letter."""
        if self.model.config.predict_from == "rationale":
            raise UserError(
                "this system chooses its rationale before the label; it has none for other labels."
            )
        letters, config = self.model.config.built_layout().choice, self.model.config
        if not letters and not self.scores_by_label:
            raise UserError(
                f"the scores of '{config.extractor}' are the same for every label here; train slm-fpo or"
                " dlm-fpo, or explain by an attribution (on the command line: --extractor ig)."
            )
        names = [choice_label(number) for number in range(26)] if letters else list(self.labels)
        matching = [
            number for number, name in enumerate(names) if type(name) is type(label) and name == label
        ]
        matching = matching or [number for number, name in enumerate(names) if str(name) == str(label)]
        if not matching:
            raise unknown("label", str(label), list(map(str, names)))
        return matching[0]

    def contrast_numbers(self, label: Label, other: Label) -> tuple[int, int]:
        """The numbers of two labels of which the first is preferred to the second."""
        if self.model.config.built_layout().choice:
            raise UserError("contrast: each choice is read by itself; explain one by its letter (target).")
        if self.model.config.extractor == "blended":
            raise UserError("contrast: differences of blended scores mean nothing; leave out the blend.")
        numbers = self.label_number(label), self.label_number(other)
        if numbers[0] == numbers[1]:
            raise UserError(f"contrast: '{label}' and '{other}' are the same label; give two.")
        return numbers

    def rationale_rule(
        self,
        budget: float | None = None,
        selector: str | None = None,
        unit: str | None = None,
        *,
        contrasts: bool = False,
    ) -> RationaleRule:
        """How rationales are chosen: as requested, or by default; fixed where the label is read from them."""
        unit = unit or "word"
        check_names(unit, selector)
        if unit == "sentence" and selector is not None:
            raise UserError("unit sentence: the best whole sentences are taken; leave out the selector.")
        config = self.model.config
        if config.predict_from == "rationale":
            own = float(max(config.budgets)), str(config.rationale_selector)
            asked = own[0] if budget is None else budget, own[1] if selector is None else selector
            if asked != own or unit == "sentence":
                raise UserError(
                    f"this system predicts from its rationale ({own[1]}, {own[0]:g} %); it has no other."
                )
            return RationaleRule(*own, unit)
        budget = EXPLAINED_BUDGET if budget is None else budget
        check_budget(budget)
        signed = contrasts or getattr(self.model.extractor, "signed", False)
        floor = signed and selector in (None, "top-k")
        return RationaleRule(budget, selector or "top-k", unit, floor=floor, signed=signed)

    def label_names(self, count: int) -> tuple[Label, ...]:
        """The names of `count` logits: the labels, or the letters of `count` choices."""
        if not self.model.config.built_layout().choice:
            return self.labels
        return tuple(choice_label(number) for number in range(count))

    def check_budgets(self, budgets: Sequence[float]) -> None:
        """Refuse other budgets than its own for a system that predicts from its rationale."""
        own = tuple(map(float, self.model.config.budgets))
        if self.model.config.predict_from == "rationale" and tuple(map(float, budgets)) != own:
            listed = ", ".join(f"{budget:g}" for budget in own)
            raise UserError(f"this system predicts from its rationale (budgets {listed}); it has no other.")

    def stream(
        self,
        examples: Iterable[Example],
        answer: BatchAnswers[T],
        *,
        batch_size: int = BATCH_SIZE,
        advance: Advance | None = None,
    ) -> Iterator[T]:
        """The results of `answer` for each example, in the order of the examples.

        Only a window of examples is in memory at a time, and inside a window texts of similar length run
        together. The model is in eval mode without gradients while `answer` has a batch.

        Args:
            examples: any number of them.
            answer: called with the examples, their tokens and the tensors of a batch; one result for each.
            batch_size: examples per batch, at most.
            advance: progress callback, called after every batch with its number of examples (results come a
                window at a time, which may take minutes).
        """
        if batch_size < 1:
            raise UserError(f"batch_size {batch_size}: must be at least 1.")
        encoder, source = self.text_encoder, iter(examples)
        while window := list(islice(source, WINDOW)):
            results: dict[int, T] = {}
            encoded = encoder.encode(window)
            for numbers, answers in self.run_encoded(window, encoded, answer, batch_size=batch_size):
                results.update(zip(numbers, answers, strict=True))
                if advance is not None:
                    advance(len(numbers))
            for number in range(len(window)):
                yield results.pop(number)

    def run_encoded(
        self,
        examples: Sequence[Example],
        encoded: Sequence[Encoded],
        answer: BatchAnswers[T],
        *,
        batch_size: int = BATCH_SIZE,
    ) -> Iterator[tuple[list[int], list[T]]]:
        """The numbers of the examples in each batch, and the results for them; see `stream`."""
        padding = int(self.tokenizer.pad_token_id)
        with evaluating(self.model):  # once a window, as it visits every module
            for numbers in by_length([item.length for item in encoded], batch_size, tokens=TOKENS):
                items = [encoded[number] for number in numbers]
                batch = collate(items, padding).to(self.model.device)
                yield numbers, list(answer([examples[number] for number in numbers], items, batch))

    def with_extractor(self, name: str, **options: Any) -> System:
        """The same classifier explained by another algorithm, one without parameters to train."""
        if self.model.config.predict_from == "rationale":
            raise UserError("this system predicts from its own rationale; another extractor would change it.")
        name = extractor_name(name)
        if options.get("removal") == "mask_token" and "mask_token_id" in option_names(name):
            options = {"mask_token_id": self.model.config.mask_token_id, **options}
        extractor = build_extractor(name, self.model.config.encoder, options)
        if any(True for _ in extractor.parameters()):
            raise UserError(f"extractor '{name}' must be trained; choose one without parameters.")
        system = self.with_extractor_module(extractor, name, options)
        method = (system.model.config.method or "vanilla").partition(" + ")[0]
        system.model.config.method = f"{method} + {name}"
        return system

    def with_dial(self, dial: float) -> System:
        """The same system with another blend of its two scores: 0 as a person would, 1 as the classifier did.

        Nothing is trained and nothing costs more. Only for systems trained with the option `order`, such as
        those of `slm-fpo`.
        """
        extractor: Any = copy(self.model.extractor)  # the heads themselves are shared
        config = self.model.config
        if not getattr(extractor, "order", False):
            raise UserError(
                f"dial: this system ({self.name}) has one score a token; train slm-fpo or dlm-fpo for two, or"
                " blend in an attribution: blend 0.5 (on the command line: --blend 0.5)."
            )
        extractor.dial = check_dial(dial)
        return self.with_extractor_module(
            extractor, config.extractor, {**config.extractor_options, "dial": extractor.dial}
        )

    def with_blend(self, weight: float, attribution: str = POST_HOC_EXTRACTOR, **options: Any) -> System:
        """The same system with `weight` times an attribution added to its learnt scores, at its passes' cost.

        Args:
            weight: of the attribution, whose largest value in a text counts as 1; so does that of the scores.
            attribution: the algorithm.
            options: its options.
        """
        config = self.model.config
        if config.predict_from == "rationale":
            raise UserError("blend: this system predicts from its own rationale; another would change it.")
        if not any(True for _ in self.model.extractor.parameters()):
            raise UserError(f"blend: this system ({self.name}) has no learnt scores to blend with.")
        settings = {
            "learnt": config.extractor,
            "learnt_options": config.extractor_options,
            "attribution": extractor_name(attribution),
            "attribution_options": options,
            "weight": weight,
        }
        blended = build_extractor("blended", config.encoder, settings)
        blended.learnt = self.model.extractor
        return self.with_extractor_module(blended, "blended", settings)

    def with_extractor_module(
        self, extractor: torch.nn.Module, name: str, options: Mapping[str, Any]
    ) -> System:
        """The same classifier with this extractor, saved and loaded as one of this name and options."""
        config = type(self.model.config).from_dict(self.model.config.to_dict())
        config.extractor, config.extractor_options = name, dict(options)
        return System(RationaleModel.from_parts(config, self.model.task, extractor), self.tokenizer)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the system to a folder that `unirex.load` and `transformers.pipeline` read."""
        if self.wrapped:
            raise UserError(
                f"{folder}: nothing was trained, so nothing is saved; the model is where it was loaded from."
            )
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        with new_draft(target / "system", folder=True) as draft, quiet_transformers():
            try:
                self.model.save_pretrained(draft)
            except SafetensorError as error:  # how safetensors says that the disk is full
                raise UserError(f"{folder}: cannot be written ({one_line(error)}).") from error
            self.tokenizer.save_pretrained(draft)
            write_sums(draft)
            # config.json goes first and comes last: without it nothing is loaded, so a process that is killed
            # in between never leaves half of this system with half of another.
            (target / "config.json").unlink(missing_ok=True)
            for file in sorted(draft.iterdir(), key=lambda path: path.name == "config.json"):
                shutil.move(file, target / file.name)


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Eval mode without gradients; afterwards the model is in the mode it was in."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)


def load(folder: str | Path, *, device: str | None = None, labels: Sequence[Label] | None = None) -> System:
    """The system saved in a folder (or on the Hub under this id), or any sequence classifier as one.

    A classifier that was not trained here is explained by integrated gradients, or see `with_extractor`.

    Args:
        folder: as `unirex train` or `save_pretrained` writes it; or a Hub id.
        device: where to run it, such as `cuda`.
        labels: for a third-party classifier: names for its classes, in the order of its logits.
    """
    path = check_saved(folder)
    model: Any
    if saved_kind(path) != RationaleConfig.model_type:
        model, tokenizer = _load_classifier(path, labels)
    elif labels is None:
        model, tokenizer = _load_trained(path)
    else:
        raise UserError(f"{folder}: a unirex system has its labels already; labels name a classifier's.")
    model.eval()
    if device:
        try:
            model.to(torch.device(device))
        except (RuntimeError, AssertionError) as error:  # no such device, or torch is not built for it
            raise UserError(
                f"device '{device}': {one_line(error)}. `unirex doctor` lists what there is."
            ) from error
    return System(model, tokenizer)


def _repeated(numbers: Sequence[int], batch: Batch) -> Tensor:
    """The number of a label [B], or the two of a contrast [B, 2], for every text of a batch."""
    target = batch.input_ids.new_tensor(numbers).squeeze()
    return target.expand(batch.examples(), *target.shape)


def predicted_targets(step: Step) -> list[Tensor]:
    """The labels [B] to explain, from the most probable one of each text to as many as a text has at most."""
    most = max(len(numbers) if isinstance(numbers, tuple) else 1 for numbers in step.predicted)
    return list(step.logits.argsort(-1, descending=True)[:, : max(most, 1)].unbind(1))


def _load_classifier(
    path: str, labels: Sequence[Label] | None
) -> tuple[RationaleModel, PreTrainedTokenizerBase]:
    """A third-party classifier with a post-hoc extractor, and its tokenizer."""
    wrapped = wrap_classifier(path, labels=labels)
    encoder = wrapped.task.classifier.config
    config = RationaleConfig(
        encoder=encoder,
        max_length=wrapped.max_length,
        labels=wrapped.labels,
        problem_type=encoder.problem_type,
        extractor=POST_HOC_EXTRACTOR,
        extractor_options=POST_HOC_OPTIONS,
        mask_token_id=wrapped.tokenizer.mask_token_id,
        method=f"{wrapped.name} + {POST_HOC_EXTRACTOR}",
    )
    extractor = build_extractor(POST_HOC_EXTRACTOR, encoder, POST_HOC_OPTIONS)
    return RationaleModel.from_parts(config, wrapped.task, extractor), wrapped.tokenizer


def _check_types(path: str, config: RationaleConfig) -> None:
    """Refuse settings that are used only when a text is read, and are of another type than was saved."""
    if not isinstance(config.max_length, int):
        raise UserError(f"{path}: 'max_length' in config.json must be a whole number.")
    for name, usual in SETTINGS.items():
        for kind, said in KINDS_OF_SETTINGS.items():
            if isinstance(usual, kind) and not isinstance(getattr(config, name), kind):
                raise UserError(f"{path}: '{name}' in config.json must be {said}.")
    weights = config.class_weights
    numbers = isinstance(weights, list | tuple) and all(isinstance(weight, int | float) for weight in weights)
    if weights is not None and not (numbers and len(weights) == len(config.labels)):
        raise UserError(f"{path}: 'class_weights' in config.json must be a number for each label, or null.")


def _load_trained(path: str) -> tuple[RationaleModel, PreTrainedTokenizerBase]:
    """The model and the tokenizer of a system of this library."""
    from transformers import AutoTokenizer

    check_files(path)
    check_sums(Path(path))
    with quiet_transformers():
        try:
            model, info = RationaleModel.from_pretrained(path, use_safetensors=True, output_loading_info=True)
            tokenizer = AutoTokenizer.from_pretrained(path, **SAFE)
        except Exception as error:  # whatever a damaged file leads to; tokenizers raises no other kind
            raise UserError(
                f"{path}: could not be loaded as a unirex system: {load_problem(error)}"
            ) from error
    check_numbers(path, model.config)
    _check_types(path, model.config)
    check_complete(path, info)
    check_finite(path, model)
    return model, tokenizer


def as_example(text: object, number: int) -> Example:
    """A string, several segments, or a dictionary with choices, as an example."""
    if isinstance(text, Example):
        return text
    segments, choices = _parts(text, number) if isinstance(text, Mapping) else (text, None)
    segments = segments if isinstance(segments, tuple | list) else (segments,)
    with at(f"text {number}"):
        checked = tuple(check_text(segment, blank=len(segments) > 1) for segment in segments)
        if not any(segment.strip() for segment in checked):
            raise UserError("there is nothing to classify in it.")
        return Example(str(number), checked, choices=parse_choices(choices, column="choices"))


def _is_one(texts: Any) -> bool:
    """Whether this is one text, not several: a tuple is a pair or more, unless it is one of examples."""
    if isinstance(texts, tuple):
        return not any(isinstance(text, Example) for text in texts)
    return isinstance(texts, str | Mapping | Example)


def _as_examples(texts: Any, columns: ColumnNames = None) -> tuple[bool, list[Example]]:
    """Whether these are several texts, and they or the one as examples to predict, without their labels."""
    texts = inputs_of(texts, columns)
    one = _is_one(texts)
    examples = (as_example(text, number) for number, text in enumerate([texts] if one else texts))
    return not one, [replace(example, label=None) for example in examples]


def _parts(text: Mapping[str, Any], number: int) -> tuple[Any, Any]:
    """Segments and choices of a dictionary."""
    named = [text[key] for key in ("text", "text_pair") if key in text]
    known = {"text", "text_pair", "segments", "choices"}
    if not text.keys() <= known or bool(named) == ("segments" in text):
        raise UserError(
            f"text {number}: give text (and text_pair) or segments, and choices if there are any."
        )
    return text.get("segments", named), text.get("choices")
