"""What cases start from: tiny encoders, trained systems and data."""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

HEAVY = (
    "unirex.cli",
    "unirex.cli.data",
    "unirex.cli.evaluate",
    "unirex.cli.explain",
    "unirex.cli.global",
    "unirex.cli.train",
    "unirex.comparison",
    "unirex.evaluation.run",
    "unirex.methods.fresh",
    "unirex.methods.stages",
    "unirex.overview",
    "unirex.report",
    "unirex.system",
    "unirex.training.train",
    "lightning.pytorch.strategies",
    "pandas",
    "pyarrow.parquet",
    "tokenizers",
    "torch.distributed",
    "transformers.models.bert.modeling_bert",
    "transformers.models.bert.tokenization_bert",
    "planted",
    "tiny",
)
TRAINING = ("--training.epochs", 2, "--training.batch_size", 8, "--training.learning_rate", 4e-3)


def import_everything() -> None:
    """Import what cases need, so that the processes they are forked into need not."""
    for name in HEAVY:
        import_module(name)
    with suppress(ImportError):
        import_module("openpyxl")


def rehearse(stock: Path) -> None:
    """Do once what many cases do: their processes find modules loaded and caches filled."""
    from campaign.readers import captured

    data, system = str(stock / "data.jsonl"), str(stock / "system")
    with TemporaryDirectory() as place:
        captured("data", "check", data)
        captured("data", "convert", data, f"{place}/data.parquet")
        captured("train", "--data", data)  # stops, as --out is missing
        captured("explain", system, "--data", data, "--html", f"{place}/page.html")
        captured("evaluate", system, "--data", data, "--draws", "1", "--out", f"{place}/evaluation")
    gc.collect()
    gc.freeze()  # or every process would go through all objects there are, and copy them


def make_stock(folder: Path) -> int:
    """Fill the folder; runs in a process of its own."""
    import planted
    import tiny
    import unirex
    from unirex.data.convert import convert

    planted.save_learner(folder / "learner")
    tiny.save_encoder(folder / "bert", "bert")
    data = planted.planted((48, 16, 16))
    convert(data, folder / "data.jsonl")
    convert(planted.planted((900, 60, 60)), folder / "many.jsonl")
    training = {"epochs": 2, "learning_rate": 4e-3, "batch_size": 8}
    settings = {"encoder": str(folder / "learner"), "pooling": "mean", "training": training}
    for name, seed in (("system", 0), ("other", 1)):
        unirex.fit("slm-fp", data, seed=seed, progress=False, **settings).save_pretrained(folder / name)
    _save_classifier(folder / "classifier", folder / "learner")
    return 0


def _save_classifier(folder: Path, learner: Path) -> None:
    """A plain classifier of transformers, not trained here."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    AutoModelForSequenceClassification.from_pretrained(learner).save_pretrained(folder)
    AutoTokenizer.from_pretrained(learner).save_pretrained(folder)
