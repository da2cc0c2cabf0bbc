"""`unirex evaluate`: measure a system, saved records, or the predictions of another tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import ArgumentParser, Namespace

from unirex.cli import inputs, shared
from unirex.config import EVALUATION_BATCH_SIZE, RANDOM_DRAWS, read_settings
from unirex.data.load import DATASETS
from unirex.data.validate import distinct_labels
from unirex.errors import UserError
from unirex.files import Progress, tracked, write_file
from unirex.methods import preset

if TYPE_CHECKING:
    from unirex.data.example import Example
    from unirex.evaluation.run import EvaluationOptions
    from unirex.evaluation.summary import Summary
    from unirex.system import System


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What to evaluate, on which data and how."""
    add = parser.add_argument
    shared.system_options(parser)
    add("--from_records", type=str, help="no system: compute the metrics of these records again")
    add("--predictions", type=str, help="no system: score what another tool said, ERASER or simple JSONL")
    _prediction_options(parser)
    add("--data", type=str, help="a dataset name, a file or a folder")
    shared.recalled_options(parser)
    shared.preset_option(parser)
    add("--split", type=str, default="test", help="train, dev, test, or all: every row, read as a stream")
    _measuring_options(parser)
    add("--batch_size", type=int, default=EVALUATION_BATCH_SIZE, help="texts at once")
    add("--records", type=str, nargs="+", default=["jsonl", "parquet"], help="formats of the records")
    add("--out", type=str, help="folder for records and metrics (default: in the run)")
    shared.engine_options(parser)
    add("--html", type=str, help="write a page: a verdict in words, the table, all texts, figures")
    shared.threads_option(parser)


def _prediction_options(parser: ArgumentParser) -> None:
    """Options that only the predictions of another tool need."""
    parser.add_argument("--missing", type=str, default="error", help="of --predictions: error, or skip")
    parser.add_argument(
        "--above", type=float, help="of --predictions: words scored above this are selected (default: 0)"
    )


def _measuring_options(parser: ArgumentParser) -> None:
    """Options that only the evaluation of a system needs."""
    add = parser.add_argument
    add("--number", type=int, help="how many, from the first on; of sorted data that is no fair part")
    shared.extractor_options(parser)
    add("--dial", type=float, nargs="+", help="positions of the dial (see explain); several: their curve")
    shared.blend_option(parser)
    add("--budgets", type=list[float], help="other budgets than the system's own, in per cent")
    add("--removal", type=str, help="attention_mask, delete, mask_token, pad_token or previous_token")
    add(
        "--beside",
        type=str,
        nargs="*",
        help="further removals (default: the one training used and one it never saw)",
    )
    add("--draws", type=int, default=RANDOM_DRAWS, help="of random scores, for the floor")
    add("--probes", type=str, nargs="+", default=[], help="further metrics: all, or some of the probes")
    add("--target", type=str, default="predicted", help="follow the predicted or gold label")


def run(options: Namespace) -> int:
    """Evaluate what is named: a system or classifier, records, or predictions."""
    if inputs.staff_of(options) is None:
        shared.use_threads(options.threads)
    evaluators = {
        "run": _evaluate_system,
        "model": _evaluate_system,
        "from_records": _evaluate_records,
        "predictions": _evaluate_predictions,
    }
    named = [name for name in evaluators if options[name]]
    if len(named) != 1:
        raise UserError(
            "evaluate: give one of these: the folder of a system, --model, --from_records, --predictions."
        )
    _check_used(options, named[0])
    if not options.data and not options.from_records:
        raise UserError("evaluate needs --data, as in --data reviews.jsonl")
    shared.check_page(options.html)
    if options.html and options.engine and _at_address(options.out):
        raise UserError("--html: the page is made of the records; give --out a folder of this machine.")
    if options.html and options.predictions and not options.out:
        raise UserError("--html: give --out as well; the page is made of the records kept there.")
    inputs.recall_reading(options)
    inputs.use_preset(options)
    return evaluators[named[0]](options)


def _check_used(options: Namespace, source: str) -> None:
    """Refuse options that would do nothing for this source."""
    of_systems = shared.given_options(options, shared.system_options)
    of_systems |= shared.given_options(options, _measuring_options)
    of_systems |= shared.given_options(options, shared.engine_options)
    of_predictions = shared.given_options(options, _prediction_options)
    if source in ("run", "model"):
        unused, owner = of_predictions, "--predictions"
    else:
        unused, owner = of_systems if source == "predictions" else of_systems | of_predictions, "a system"
    for name in unused:
        raise UserError(f"--{name} is for evaluating {owner}; it would do nothing here.")


def _evaluate_system(options: Namespace) -> int:
    if options.engine and len(options.dial or ()) > 1:
        raise UserError("--engine evaluates at one position of the dial; give one, or leave --engine out.")
    system = inputs.load_system(options)
    if len(options.dial or ()) < 2:
        out = options.out or str(evaluation_folder(system, options))
        summary = _measure(options, system, out)
        _show(options, summary, f"records and metrics in {out}")
        return _write_page(options, {summary.name: Path(out)})
    return _turn_dial(options, system)


def _turn_dial(options: Namespace, system: System) -> int:
    """Evaluate the system at every position of the dial; a table and a figure of the curve."""
    from unirex.evaluation.run import HELD_OUT
    from unirex.metrics.registry import HEADLINE
    from unirex.report.dial import dial_figure
    from unirex.report.table import table

    folder = Path(options.out or evaluation_folder(system, options))
    summaries = {
        dial: _measure(options, system.with_dial(dial), str(folder / f"dial-{dial:g}"))
        for dial in options.dial
    }
    rows = {f"dial {dial:g}": summary.metrics for dial, summary in summaries.items()}
    shown = [*(preset(options.preset).columns or HEADLINE), *(f"csd/{removal}" for removal in HELD_OUT)]
    print(table(rows, [name for name in shown if any(name in row for row in rows.values())]))
    points = [(dial, summary.metrics, summary.intervals) for dial, summary in summaries.items()]
    drawn = dial_figure(system.name, points).save(folder)
    print(f"records and metrics in {folder}; figure in {' and '.join(map(str, drawn))}")
    return _write_page(options, {f"dial {dial:g}": folder / f"dial-{dial:g}" for dial in options.dial})


def _at_address(out: str | None) -> bool:
    from unirex.scale.places import is_remote

    return out is not None and is_remote(out)


def _measure(options: Namespace, system: System, out: str) -> Summary:
    """Evaluate the system into a folder, or with --engine an address."""
    examples = inputs.first_examples(inputs.selected_examples(options), options.number)
    # The run and the data are kept with the evaluation in case its folder is moved.
    settings = Path(options.run or options.model) / "settings.yaml"
    trained = read_settings(str(settings)) if settings.is_file() else {}
    data = {"name": Path(options.data).stem, "split": options.split, "number": options.number}
    kept: dict[str, Any] = {"formats": options.records, "about": {"data": data, "run": trained}}
    with Progress("evaluating", **inputs.progress_size(examples, options.data, options.number)) as progress:
        examples = inputs.with_known_labels(system, examples, options.data)
        if options.engine:
            kept |= {"advance": progress.advance, "tell": progress.say}
            return _measure_in_shards(options, system, examples, out, **kept)
        from unirex.evaluation.run import evaluate_to

        return evaluate_to(
            Path(out), system, examples, advance=progress.advance, **kept, **_measuring(options)
        )


def _measuring(options: Namespace) -> EvaluationOptions:
    """The options of `evaluated`."""
    from unirex.config import PROBES

    names = ("budgets", "removal", "beside", "draws", "target", "batch_size")
    found: Any = {name: options[name] for name in names}
    return {**found, "probes": PROBES if options.probes == ["all"] else options.probes}


def _measure_in_shards(
    options: Namespace, system: System, examples: Iterable[Example], out: str, **kept: Any
) -> Summary:
    """Evaluate the system by several workers."""
    from functools import partial

    from unirex.scale.evaluating import evaluate_shards
    from unirex.scale.shards import WINDOW

    options.run = inputs.found_anywhere(options.run or options.model)
    return evaluate_shards(
        out,
        system,
        examples,
        partial(inputs.build_system, options),
        staff=inputs.staff_of(options),
        settings=inputs.system_settings(options),
        options=_measuring(options),
        shard_rows=WINDOW if options.shard_rows is None else options.shard_rows,
        verify=options.verify,
        **kept,
    )


def evaluation_folder(system: System, options: Namespace) -> Path:
    """A folder in that of the run, with a name that tells evaluations with different settings apart."""
    home = Path(options.run or options.model)
    if system.wrapped:  # nothing is written to the folder of a third-party classifier
        home = Path("runs", system.name.partition(" + ")[0].replace("/", "--"))
    reading = [f"{key}-{value}" for key, value in options.data_options.items()]
    reading += [options.annotators] if options.annotators else []
    reading += [f"seed-{options.data_seed}"] if options.data_seed else []
    measuring = [
        options.split,
        options.number and f"first-{options.number}",
        options.extractor,
        *(f"{key}-{value}" for key, value in options.extractor_options.items()),
        options.dial and "dial-" + "-".join(f"{dial:g}" for dial in options.dial),
        options.blend is not None and f"blend-{options.blend:g}",
        options.removal,
        options.target if options.target != "predicted" else None,
        options.budgets and "k" + "-".join(f"{budget:g}" for budget in options.budgets),
    ]
    parts = [Path(options.data).stem, *reading, *measuring]
    return home / "evaluation" / "-".join(str(part) for part in parts if part)


def _evaluate_records(options: Namespace) -> int:
    """The metrics of saved records again, without a model."""
    from unirex.evaluation.record_files import find_records, read_records
    from unirex.evaluation.summary import saved_summary

    path = find_records(Path(options.from_records))
    summary, origin = saved_summary(path), f"read from {path}"
    for record in tracked(read_records(path), Progress("reading", total=None)):
        summary.add(record)
    if not summary.count:
        raise UserError(f"{origin}: there is nothing in it.")
    if options.out:
        summary.save(Path(options.out))
        origin = f"{origin}; metrics in {options.out}"
    _show(options, summary, origin)
    return _write_page(options, {summary.name: path})


def _evaluate_predictions(options: Namespace) -> int:
    """The predictions of another tool against the gold of a dataset."""
    from unirex.eraser.importing import read_predictions
    from unirex.evaluation.run import save_stream
    from unirex.evaluation.summary import Summary

    path, examples = Path(options.predictions), [*inputs.selected_examples(options)]
    labels = distinct_labels(examples)
    if options.data in DATASETS:  # a named dataset knows all its labels
        labels = [*inputs.read_dataset(options.data, options, seed=options.data_seed).info.labels]
    records = read_predictions(path, examples, labels, missing=options.missing, above=options.above)
    summary, origin = Summary(path.stem, labels), f"scored from {path}"
    if not options.out:
        for record in records:
            summary.add(record)
        _show(options, summary, origin)
        return 0
    save_stream(Path(options.out), records, summary, formats=options.records)
    _show(options, summary, f"{origin}; records and metrics in {options.out}")
    return _write_page(options, {summary.name: Path(options.out)})


def _show(options: Namespace, summary: Summary, origin: str) -> None:
    """Print the table and where its numbers are from or kept."""
    from unirex.report.page import count

    if not summary.metrics:
        raise UserError(f"{origin}: nothing in it can be measured; give scores, labels or probabilities.")
    print(summary.table(preset(options.preset).columns))
    labelled = summary.columns.tally.sums.get("accuracy")
    if labelled is not None and labelled.count < summary.count:
        print(f"note: {labelled.count} of {summary.count} texts have a prediction; accuracy is of these.")
    print(f"{count(summary.count, 'text')}; {origin}")


def _write_page(options: Namespace, evaluations: Mapping[str, Path]) -> int:
    """The page of what was evaluated, if one is asked for."""
    if options.html:
        from unirex.comparison import compare

        write_file(Path(options.html), compare(evaluations).page())
        print(f"page in {options.html}")
    return 0
