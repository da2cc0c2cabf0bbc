"""One system behind the server: reads texts, turns options into a question, answers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from unirex.data.example import Example, Label
from unirex.encoding.batch import Encoded
from unirex.errors import UserError, unknown
from unirex.extractors import LABEL_FREE, POST_HOC, extractor_name
from unirex.serve.answers import ATTRIBUTION_PASSES, HOLDING, Ask, Plain, answered
from unirex.serve.errors import too_large
from unirex.serve.settings import Limits
from unirex.system import System, as_example

KEPT_DIALS = 16  # positions of a dial that stay ready


class Served:
    """A system by its name, with the further extractors that requests may choose.

    Extractors share the classifier, and requests cannot set their options: there are as many as names, and
    they cost what they cost by default.
    """

    def __init__(self, name: str, system: System) -> None:
        self.name, self.system = name, system
        self.text_encoder = system.text_encoder
        self._variants: dict[str, System] = {}
        self._dialled: dict[float, System] = {}

    @property
    def extractors(self) -> list[str]:
        """Names of the extractors a request may choose, the system's own first."""
        own = str(self.system.model.config.extractor)
        fixed = self.system.model.config.predict_from == "rationale"
        return [own] if fixed else list(dict.fromkeys([own, *POST_HOC]))

    def variant(self, extractor: str | None, dial: float | None = None) -> System:
        """The system, the same with its dial turned, or its classifier explained by another extractor."""
        if dial is not None:
            return self._turned(dial)
        if extractor is None:
            return self.system
        if extractor not in self._variants:
            self._variants[extractor] = self.system.with_extractor(extractor)
        return self._variants[extractor]

    def _turned(self, dial: float) -> System:
        """The system at a position of its dial; the last few are kept, as they share everything else."""
        found = self._dialled.get(dial) or self.system.with_dial(dial)
        self._dialled = {**dict(list(self._dialled.items())[-KEPT_DIALS:]), dial: found}
        return found

    def ask_label(self) -> Ask:
        """The question for the label alone."""
        return Ask(self.name)

    def ask_reasons(
        self,
        *,
        budgets: Sequence[float | None] = (None,),
        selector: str | None = None,
        unit: str | None = None,
        target: Label | None = None,
        contrast: tuple[Label, Label] | None = None,
        extractor: str | None = None,
        dial: float | None = None,
        faithfulness: bool = False,
        floor: int = 0,
    ) -> Ask:
        """The question for the label and its reasons; a `UserError` says what the system cannot answer."""
        other = self._other_extractor(extractor)
        if other is not None and dial is not None:
            raise UserError("dial: it is for the system's own scores; leave out the extractor.")
        if floor and not faithfulness:
            raise UserError("floor: it is a floor of faithfulness; give faithfulness: true.")
        system = self.variant(other, dial)
        if contrast is not None and target is not None:
            raise UserError("give a contrast or a label to explain, not both.")
        numbers: tuple[int, ...] = ()
        if contrast is not None:
            numbers = system.contrast_numbers(*contrast)
        elif target is not None:
            numbers = (system.label_number(target),)
        contrasts = contrast is not None
        rules = [system.rationale_rule(budget, selector, unit, contrasts=contrasts) for budget in budgets]
        config = system.model.config
        learnt = any(True for _ in system.model.extractor.parameters())
        return Ask(
            self.name,
            other,
            dial,
            tuple(rules),
            numbers,
            faithfulness,
            floor,
            passes=(1 if learnt else ATTRIBUTION_PASSES) + 2 * len(rules) * (1 + floor) * faithfulness,
            holding=bool({config.extractor, config.extractor_options.get("attribution")} & {*HOLDING}),
        )

    def budgets(self) -> list[float]:
        """All budgets of the system; one that predicts from its rationale has only the largest."""
        config = self.system.model.config
        if config.predict_from == "rationale":
            return [float(max(config.budgets))]
        return list(map(float, config.budgets))

    def _other_extractor(self, extractor: str | None) -> str | None:
        """The name of an extractor that is not the system's own; None for that."""
        if extractor is None:
            return None
        name = extractor_name(extractor)
        if name not in self.extractors:
            raise unknown("extractor", name[:40], self.extractors)
        return None if name == self.system.model.config.extractor else name

    def read(
        self, texts: Sequence[Any], limits: Limits, *, truncate: bool
    ) -> tuple[list[Example], list[Encoded]]:
        """The texts of a request and their tokens, within the limits."""
        examples = [as_example(text, number) for number, text in enumerate(texts)]
        most = max((len(example.segments) + len(example.choices or ()) for example in examples), default=0)
        if most > limits.parts:
            raise too_large(f"a text of {most} parts; it may have {limits.parts}.")
        encoded = self.text_encoder.encode(examples)
        for number, item in enumerate(encoded):
            if item.truncated and not truncate:
                raise too_large(
                    f"text {number} is {item.truncated} tokens longer than this system reads; shorten it, or "
                    "give truncate: true."
                )
        tokens = sum(item.length for item in encoded)
        if tokens > limits.tokens:
            raise too_large(f"{tokens} tokens; a request may have {limits.tokens}.")
        return examples, encoded

    def answer(self, ask: Ask, examples: Sequence[Example], encoded: Sequence[Encoded]) -> list[Plain]:
        """The answer to every text."""
        return answered(self.variant(ask.extractor, ask.dial), ask, examples, encoded)

    def watch(self, call: Callable[[], None]) -> Callable[[], None]:
        """Call a function before each chunk that the classifier runs; returns what ends it.

        The function may run other texts on the same classifier.
        """
        task: Any = self.system.model.task
        encoder = task.encoder

        def before(*_: object) -> None:
            kind = getattr(encoder, "attention_type", None)
            call()
            # BigBird leaves sparse attention when a short text passes.
            if kind is not None and encoder.attention_type != kind:
                encoder.set_attention_type(kind)

        # Of a third-party classifier the whole of it, so that nothing of a chunk has begun.
        return (task.classifier if self.system.wrapped else encoder).register_forward_pre_hook(before).remove

    def _by_label(self) -> list[str]:
        """The extractors that have reasons for every label, not only for the predicted one."""
        own = str(self.system.model.config.extractor)
        fixed = self.system.model.config.predict_from == "rationale"
        choice = self.system.model.config.built_layout().choice and not fixed  # each choice is read by itself
        others = [name for name in self.extractors if name != own and (choice or name not in LABEL_FREE)]
        return [own, *others] if choice or self.system.scores_by_label else others

    def _dial(self) -> float | None:
        """Where the dial stands; None of a system that has none."""
        extractor: Any = self.system.model.extractor
        return float(extractor.dial) if getattr(extractor, "order", False) else None

    def info(self) -> Plain:
        """What a client wants to know of it; no paths."""
        system, config = self.system, self.system.model.config
        layout = config.built_layout()
        return {
            "name": self.name,
            "method": system.name,
            "labels": [] if layout.choice else list(system.labels),
            "choices": layout.choice,
            "segments": layout.segments,
            "multi_label": system.multi_label,
            "extractor": str(config.extractor),
            "extractors": self.extractors,
            "by_label": self._by_label(),
            "dial": self._dial(),
            "budgets": self.budgets(),
            "predicts_from": str(config.predict_from),
            "encoder": system.encoder_name.replace("\\", "/").rstrip("/").split("/")[-1],
            "max_length": int(config.max_length),
            "truncation": str(config.truncation),
            "window": int(system.model.task.window) if config.truncation == "windows" else None,
            "parameters": sum(parameter.numel() for parameter in system.model.parameters()),
            "device": str(system.model.device),
        }
