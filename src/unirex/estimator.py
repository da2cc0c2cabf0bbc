"""`RationaleClassifier`: a scikit-learn estimator that trains a system and predicts with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unirex import methods
from unirex.config import merge
from unirex.data.example import Example, Splits
from unirex.data.formats import objects
from unirex.data.formats.table import Columns
from unirex.data.load import load_dataset
from unirex.data.rationales import RationaleFormat
from unirex.data.split import stratified_split
from unirex.errors import UserError
from unirex.explanation import Explanation

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import Tags, check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d
except ImportError as error:
    raise UserError(
        "RationaleClassifier needs scikit-learn 1.6 or newer: pip install 'unirex[sklearn]'."
    ) from error


class RationaleClassifier(ClassifierMixin, BaseEstimator):
    """A text classifier that shows its reasons, in the manners of scikit-learn.

    ```python
    classifier = unirex.RationaleClassifier("aa-f", epochs=3).fit(texts, labels)
    classifier.predict(["a gorgeous , witty , seductive film ."])
    classifier.explain("a gorgeous , witty , seductive film .").spans
    ```
    A sample is a text, or a pair or more as a tuple, a list or a row of an array or a frame. After `fit`,
    `classes_` are the labels in the order of `predict_proba`, and `system_` is the trained `System`.

    Args:
        method: its name; see `unirex list methods`. Those that learn from marked words need `rationales`.
        encoder: `minilm`, a Hub id or a folder.
        epochs: most passes over the training data; None: as the method says, and so for the next three.
        batch_size: texts per optimiser step.
        learning_rate: of the encoder.
        max_length: tokens the encoder reads at once.
        validation_fraction: share of the texts that the best epoch is chosen by, unless `fit` gets `dev`.
        rationale_format: how `rationales` are written, as of `load_dataset`; auto: seen from all of them.
        settings: any other settings, as tables: `{"objectives": {"plausibility": {"weight": 0.5}}}`.
        random_state: seed of weights, shuffling and the share for validation.
        out: a folder to keep the run in; what an earlier `fit` left there is replaced.
        verbose: show the progress of training.
    """

    def __init__(
        self,
        method: str = "slm-fp",
        *,
        encoder: str = "minilm",
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        max_length: int | None = None,
        validation_fraction: float = 0.1,
        rationale_format: RationaleFormat = "auto",
        settings: Mapping[str, Any] | None = None,
        random_state: Any = 0,
        out: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.encoder = encoder
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_length = max_length
        self.validation_fraction = validation_fraction
        self.rationale_format = rationale_format
        self.settings = settings
        self.random_state = random_state
        self.out = out
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.one_d_array = True, True
        tags.input_tags.two_d_array = False
        return tags

    def fit(
        self, X: Any, y: Any, *, rationales: Any = None, dev: Sequence[Any] | None = None
    ) -> RationaleClassifier:
        """Train on texts and their labels.

        Args:
            X: the texts.
            y: a label for each.
            rationales: the marked words of each, in any format that `load_dataset` reads: character spans,
                0/1 per word, phrases, …; None for a text that was not annotated.
            dev: texts and labels, and rationales if there are any, to choose the best epoch by.
        """
        seed = self._seed()
        settings = self._all_settings(seed)
        if rationales is None and methods.resolve(self.method, settings, {}).objectives.plausibility.weight:
            raise UserError(
                f"method '{self.method}' learns from marked words: fit(X, y, rationales=…); or use a method "
                "that needs none (aa-f, sgt, fresh, a2r, vanilla, …)."
            )
        examples = _labelled(X, y, rationales, rationale_format=self.rationale_format)
        data = self._splits(examples, dev, seed)
        progress, replaces = bool(self.verbose), self.out is not None
        self.system_ = methods.fit(
            self.method, data, config=settings, out=self.out, force=replaces, progress=progress
        )
        self.classes_ = np.asarray(data.info.labels)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The label of each text."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the `classes_`, [texts, classes]."""
        check_is_fitted(self)
        return self.system_.predict_proba(_samples(X))

    def explain(self, X: Any, **options: Any) -> Explanation | list[Explanation]:
        """Predict a text, or several, and name the words that decided; options as of `System.explain`."""
        check_is_fitted(self)
        return self.system_.explain(X if isinstance(X, str) else _samples(X), **options)

    def _seed(self) -> int:
        if isinstance(self.random_state, int):
            return self.random_state
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _all_settings(self, seed: int) -> dict[str, Any]:
        """`settings`, and over them those that have an argument of their own."""
        training = {"epochs": self.epochs, "batch_size": self.batch_size, "learning_rate": self.learning_rate}
        given = {name: value for name, value in training.items() if value is not None}
        named = {"encoder": self.encoder, "training": given, "seed": seed}
        if self.max_length is not None:
            named["max_length"] = self.max_length
        return merge(self.settings or {}, named)

    def _splits(self, examples: Sequence[Example], dev: Sequence[Any] | None, seed: int) -> Splits:
        share = self.validation_fraction
        if dev is None and not 0 < share < 1:
            raise UserError(f"validation_fraction {share}: give a share between 0 and 1.")
        if dev is None:
            return load_dataset(stratified_split(examples, dev=share, test=0, seed=seed))
        if not isinstance(dev, tuple | list) or len(dev) not in (2, 3):
            raise UserError("dev: give (texts, labels), or (texts, labels, rationales).")
        others = _labelled(*dev, rationale_format=self.rationale_format)
        return load_dataset({"train": examples, "dev": others})


def _labelled(X: Any, y: Any, rationales: Any = None, *, rationale_format: RationaleFormat) -> list[Example]:
    """The samples with their labels and marks."""
    if y is None:
        raise UserError("y is None; fit needs a label for each text.")
    samples, labels = _samples(X), _single_labels(y)
    check_consistent_length(samples, labels, rationales)
    columns = [f"text_{number}" for number in range(1, _size(samples) + 1)]
    rows = []
    for sample, label in zip(samples, labels.tolist(), strict=True):
        texts = sample if isinstance(sample, tuple) else (sample,)
        rows.append({**dict(zip(columns, texts, strict=True)), "label": label})
    if rationales is None:
        rationale_format = "characters"  # so that no tag in a text is taken for a mark
    else:
        for row, marks in zip(rows, rationales, strict=True):
            row["rationale"] = _plain(marks)
    read = objects.read(rows, columns=Columns(text=",".join(columns)), rationale_format=rationale_format)
    check_classification_targets(labels)  # after `read`, which names the row of a missing label
    return [record.example for record in read]


def _single_labels(y: Any) -> np.ndarray:
    """A label for each text; sets of labels, as lists or as columns of 0 and 1, are for `unirex.fit`."""
    answers = y.to_numpy() if hasattr(y, "to_numpy") else y
    if np.iterable(answers) and any(isinstance(a, list | tuple | set) or np.size(a) > 1 for a in answers):
        raise UserError(
            "y has several labels for a text; RationaleClassifier learns one for each. For sets of labels: "
            'unirex.fit("aa-f", [{"text": "…", "label": ["plot", "sound"]}, …]).'
        )
    return column_or_1d(y)


def _samples(X: Any) -> list[str | tuple[str, ...]]:
    """Texts as strings, pairs and more as tuples; of lists, arrays, series and frames."""
    if isinstance(X, str):
        raise UserError("X is one text; give a list of texts.")
    rows = [_plain(row) for row in _plain(X.to_numpy() if hasattr(X, "to_numpy") else X)]
    if not rows:
        raise UserError("X has no texts; it needs at least one.")
    return [_sample(row) for row in rows]


def _sample(row: Any) -> str | tuple[str, ...]:
    if not isinstance(row, list | tuple):
        return row
    return tuple(row) if len(row) != 1 else row[0]


def _size(samples: Sequence[str | tuple[str, ...]]) -> int:
    """The number of texts in a sample, which is the same for all."""
    sizes = [len(sample) if isinstance(sample, tuple) else 1 for sample in samples]
    for number, size in enumerate(sizes, 1):
        if size != sizes[0]:
            raise UserError(f"X: sample {number} has {size} texts, but the first has {sizes[0]}.")
    return sizes[0]


def _plain(value: Any) -> Any:
    """Arrays as lists."""
    return value.tolist() if hasattr(value, "tolist") else value
