"""The `rationale-classification` pipeline of transformers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from transformers import AutoModel, Pipeline
from transformers.pipelines import PIPELINE_REGISTRY

from unirex.config import check_budget
from unirex.data.example import Example, Label
from unirex.explanation import Explanation
from unirex.modeling import RationaleModel
from unirex.system import ExplainOptions, System

TASK = "rationale-classification"


class RationaleClassificationPipeline(Pipeline):
    """Texts in, labels with their reasons out.

    ```python
    classify = transformers.pipeline("rationale-classification", model="runs/slm")
    classify("a gorgeous , witty , seductive film .", budget=20)
    # {'label': 'positive', 'score': 0.99, 'rationale': [{'start': 2, 'end': 10, 'text': 'gorgeous', …}], …}
    ```
    A string gives one answer, a list a list, other iterables an iterator. A pair is a dictionary with `text`
    and `text_pair`; a question with answers to choose from has `text` and `choices`.
    """

    _load_processor: Any = False
    _load_image_processor: Any = False
    _load_feature_extractor: Any = False
    _load_tokenizer: Any = True

    def __call__(self, inputs: Any, *args: Any, **options: Any) -> Any:
        """Classify and explain. Options: `batch_size`, and those of `System.explain`."""
        settings = self._postprocess_params | self._sanitize_parameters(**options)[2]
        if isinstance(inputs, str | Mapping | Example):
            return next(self._answers([inputs], **settings))
        answers = self._answers(inputs, **settings)
        return list(answers) if isinstance(inputs, list | tuple) else answers

    def _answers(
        self, texts: Iterable[Any], *, target: Label | None = None, **options: Any
    ) -> Iterator[dict[str, Any]]:
        targets = () if target is None else (target,)
        for explanation in self._system.explain_all(texts, targets=targets, **options):
            yield as_answer(explanation)

    @property
    def _system(self) -> System:
        if not isinstance(self.model, RationaleModel) or self.tokenizer is None:
            raise TypeError(f"{TASK} needs a unirex model and its tokenizer")
        return System(self.model, self.tokenizer)

    def _sanitize_parameters(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        known = (*ExplainOptions.__annotations__, "batch_size")
        unknown = [name for name in options if name not in known]
        if unknown:
            raise TypeError(f"{TASK} has no option {', '.join(unknown)}; its options: {', '.join(known)}")
        if options.get("budget") is not None:
            check_budget(options["budget"])
        return {}, {}, {name: value for name, value in options.items() if value is not None}

    # transformers requires these three of every pipeline; batching by length makes them one step here.
    def preprocess(self, input_: Any, **_: Any) -> dict[str, Any]:
        """Nothing to do: `_forward` reads the text."""
        return {"text": input_}

    def _forward(self, input_tensors: dict[str, Any], **_: Any) -> Any:
        return {"explanation": self._system.explain(input_tensors["text"])}

    def postprocess(self, model_outputs: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Plain values."""
        return as_answer(model_outputs["explanation"])


def as_answer(explanation: Explanation) -> dict[str, Any]:
    """An explanation in the format of transformers' pipelines: a dictionary with `label` and `score`."""
    answer: dict[str, Any] = {"label": explanation.label}
    if explanation.choices is not None:
        answer |= {"choice": explanation.segments[-1], "choices": list(explanation.choices)}
    return answer | {
        "score": explanation.probabilities[explanation.explained],
        "probabilities": explanation.probabilities,
        "rationale": [span.to_dict() for span in explanation.spans],
        "words": [word.to_dict() for word in explanation.words],
        "truncated": explanation.truncated,
        "unfilled": explanation.unfilled,
    }


if TASK not in PIPELINE_REGISTRY.supported_tasks:
    PIPELINE_REGISTRY.register_pipeline(
        TASK, pipeline_class=RationaleClassificationPipeline, pt_model=AutoModel, type="text"
    )
