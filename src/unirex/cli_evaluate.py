"""`unirex evaluate`: of a system, of records again, or of what another tool said."""

from __future__ import annotations

from pathlib import Path

from jsonargparse import Namespace

from unirex.cli_inputs import (
    asked_data,
    asked_system,
    evaluated_examples,
    expected,
    first,
    fitting,
    labels_of,
)
from unirex.config import read_settings
from unirex.data.load import DATASETS
from unirex.errors import UserError
from unirex.evaluation.record_files import find_records, read_records
from unirex.evaluation.summary import Summary, saved_summary
from unirex.files import Progress, tracked
from unirex.report.page import count
from unirex.system import System

OF_SYSTEMS: dict[str, object] = {  # options that ask a model, and their defaults
    "extractor": None,
    "labels": None,
    "budgets": None,
    "removal": None,
    "beside": None,
    "number": None,
    "draws": 5,
    "probes": [],
    "target": "predicted",
}
OF_TOOLS: dict[str, object] = {"missing": "error", "above": None}


def evaluate(options: Namespace) -> int:
    """`unirex evaluate`."""
    asked = [name for name in ("run", "model", "from_records", "predictions") if options[name]]
    if len(asked) != 1:
        raise UserError(
            "evaluate: give one of these: the folder of a system, --model, --from-records, --predictions."
        )
    if asked == ["model"]:
        options.run, asked = options.model, ["run"]  # from here on there is no difference
    _check_used(options, asked[0])
    return {"run": _system, "from_records": _records, "predictions": _predictions}[asked[0]](options)


def _check_used(options: Namespace, asked: str) -> None:
    """An option that would do nothing is a misunderstanding."""
    idle = OF_TOOLS if asked == "run" else OF_SYSTEMS if asked == "predictions" else OF_SYSTEMS | OF_TOOLS
    given = [name for name, usual in idle.items() if options[name] != usual]
    if given:
        what = {"run": "--predictions", "from_records": "a system", "predictions": "a system"}[asked]
        raise UserError(f"--{given[0]} is for evaluating {what}; it would do nothing here.")


def _system(options: Namespace) -> int:
    from unirex.evaluation.probes import PROBES
    from unirex.evaluation.run import evaluate_to

    _need_data(options)
    system = asked_system(options)
    examples = first(evaluated_examples(options), options.number)
    folder = Path(options.out or home(system, options.run) / "evaluation" / evaluation_name(options))
    with Progress("evaluating", **expected(examples, options.data, options.number)) as progress:
        summary = evaluate_to(
            folder,
            system,
            fitting(system, examples, options.data),
            budgets=options.budgets,
            removal=options.removal,
            beside=options.beside,
            draws=options.draws,
            probes=PROBES if options.probes == ["all"] else options.probes,
            target=options.target,
            batch_size=options.batch_size,
            formats=options.records,
            about=_about(options),
            advance=progress.advance,
        )
    return _told(summary, f"records and metrics in {folder}")


def home(system: System, run: str) -> Path:
    """Where evaluations of it are kept: in its run, but never in the folder of somebody's classifier."""
    return Path("runs", system.name.partition(" + ")[0].replace("/", "--")) if system.wrapped else Path(run)


def _about(options: Namespace) -> dict[str, object]:
    """The run and the data, so that the evaluation still knows them when it lies elsewhere."""
    path = Path(options.run) / "settings.yaml"
    trained = read_settings(str(path)) if path.is_file() else {}
    data = {"name": Path(options.data).stem, "split": options.split, "number": options.number}
    return {"data": data, "run": trained}


def _records(options: Namespace) -> int:
    """The metrics of records again, without any model."""
    path = find_records(Path(options.from_records))
    summary = saved_summary(path)
    for record in tracked(read_records(path), Progress("reading", total=None)):
        summary.add(record)
    return _saved(summary, options, f"read from {path}")


def _predictions(options: Namespace) -> int:
    """What another tool said, against the gold of a dataset."""
    from unirex.eraser.importing import read_predictions
    from unirex.evaluation.run import save_stream

    _need_data(options)
    path, examples = Path(options.predictions), list(evaluated_examples(options))
    labels = list(asked_data(options).info.labels) if options.data in DATASETS else labels_of(examples)
    records = read_predictions(path, examples, labels, missing=options.missing, above=options.above)
    summary, told = Summary(path.stem, labels), f"scored from {path}"
    if not options.out:
        for record in records:
            summary.add(record)
        return _told(summary, told)
    save_stream(Path(options.out), records, summary, formats=options.records)
    return _told(summary, f"{told}; records and metrics in {options.out}")


def _need_data(options: Namespace) -> None:
    if not options.data:
        raise UserError("evaluate needs --data, as in --data reviews.jsonl")


def _saved(summary: Summary, options: Namespace, told: str) -> int:
    if not summary.count:
        raise UserError(f"{told}: there is nothing in it.")
    if options.out:
        summary.save(Path(options.out))
        told = f"{told}; metrics in {options.out}"
    return _told(summary, told)


def _told(summary: Summary, told: str) -> int:
    if not summary.metrics:
        raise UserError(f"{told}: nothing in it can be measured; give scores, labels or probabilities.")
    print(summary.table())
    labelled = summary.columns.tally.sums.get("accuracy")
    if labelled is not None and labelled.count < summary.count:
        print(f"note: {labelled.count} of {summary.count} texts have a prediction; accuracy is of these.")
    print(f"{count(summary.count, 'text')}; {told}")
    return 0


def evaluation_name(options: Namespace) -> str:
    """A folder name that tells evaluations with different settings apart."""
    budgets = options.budgets and "k" + "-".join(f"{budget:g}" for budget in options.budgets)
    steps = [f"{key}-{value}" for key, value in options.extractor_options.items()]
    read = [f"{key}-{value}" for key, value in options.data_options.items()]
    read += [options.annotators] if options.annotators != "union" else []
    read += [f"seed-{options.data_seed}"] if options.data_seed else []
    target = options.target if options.target != "predicted" else None
    number = options.number and f"first-{options.number}"
    asked = [options.split, number, options.extractor, *steps, options.removal, target, budgets]
    parts = [Path(options.data).stem, *read, *asked]
    return "-".join(str(part) for part in parts if part)
