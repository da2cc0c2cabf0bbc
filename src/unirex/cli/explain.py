"""`unirex explain`: texts in, labels with their reasons out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console

from unirex.cli import inputs, shared
from unirex.config import check_budget
from unirex.errors import UserError
from unirex.explanation import check_names
from unirex.files import Progress, replace_file, say, write_file

if TYPE_CHECKING:
    from unirex.data.example import Example, Label
    from unirex.explanation import Explanation
    from unirex.scale.engines import Staff
    from unirex.system import System

T = TypeVar("T")
FILE_OPTIONS = ("columns", "on_error")  # of those of --data
TARGETS = ("html", "label_studio", "out")  # options that name a file to write


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What to explain, how and where to put it."""
    add = parser.add_argument
    shared.system_options(parser)
    add("--pair", action="store_true", help="of --model: two texts belong together")
    add("texts", type=str, nargs="*", help="texts to explain; for pairs, two for each")
    add(
        "--file",
        type=str,
        help="a file of texts: JSONL, CSV, TSV, Parquet, or one a line (.txt); - is a pipe",
    )
    add("--data", type=str, help="examples of a dataset: a name, a file or a folder")
    shared.example_options(parser)
    add("--choices", type=list[str], help='answers to choose from: \'["sea", "sky"]\'')
    shared.rationale_options(parser)
    add("--unit", type=str, help="what the rationale is made of: word (default), token or sentence")
    add(
        "--for",
        type=str,
        nargs="+",
        help="labels to give reasons for, or all (default: each that is predicted)",
    )
    add("--contrast", type=str, nargs=2, help="two labels: reasons for the first rather than the second")
    add("--json", action="store_true", help="print JSON, one object a line; also beside files")
    add("--html", type=str, help="write a page")
    add("--label_studio", type=str, help="write tasks for Label Studio, to be corrected there")
    add("--out", type=str, help="write JSONL; with --engine the folder or address of the parts")
    shared.engine_options(parser)
    add("--parts", type=str, help="of --engine: jsonl (default) or parquet")
    shared.threads_option(parser)


def run(options: Namespace) -> int:
    """Explain texts and print or write the explanations."""
    staff = inputs.staff_of(options)
    if staff is not None:
        return _run_corpus(options, staff)
    shared.use_threads(options.threads)
    _name_model(options)
    _check(options)
    if options.file or options.data:
        inputs.recall_reading(options)
    batches = _read(options)
    system = inputs.load_system(options)
    if options.texts:
        batches = [_typed_texts(options, system)]
    elif options.file != inputs.STANDARD_INPUT:
        _announce_memory(system)
    if options.label_studio and system.multi_label:
        raise UserError("--label_studio: of a set, each label has its own reasons; use --out for JSONL.")
    source = options.file or options.data
    size = inputs.progress_size(batches[0], source, options.number) if isinstance(batches, list) else {}
    to_file = any(options[name] for name in TARGETS)
    # A bar would stand among the explanations if both are on the same terminal.
    on_terminal = (options.json or not to_file) and sys.stdout.isatty() and sys.stderr.isatty()
    read: list[Example] = []  # for what is written beside their explanations
    skipping = inputs.listing_skipped(options.file, options) if options.file else nullcontext()
    with skipping, Progress("explaining", **size, shown=not options.texts and not on_terminal) as progress:

        def explained(examples: Iterable[Example]) -> Iterator[Explanation]:
            examples = inputs.with_known_labels(system, examples, source)
            if options.label_studio:
                examples = _kept(examples, read)
            return system.explain_all(
                examples,
                budget=options.budget,
                selector=options.selector,
                unit=options.unit,
                contrast=options.contrast and tuple(options.contrast),
                targets=_targets(options, system),
                advance=progress.advance,
            )

        done = _put(options, read, chain.from_iterable(map(explained, batches)))
    for line in done:
        print(line, file=sys.stderr if options.json else sys.stdout)
    return 0


def _announce_memory(system: System) -> None:
    """Say what explaining will hold, whatever the number of texts, where it is known."""
    from unirex.system import BATCH_SIZE
    from unirex.training.memory import explaining_bound

    bound = explaining_bound(system.model, batch_size=BATCH_SIZE)
    if bound is not None:
        say(f"note: explaining holds about {bound / 1e9:.1f} GB of memory at most")


def _run_corpus(options: Namespace, staff: Staff) -> int:
    """Explain the files of a corpus in shards, by several workers."""
    from functools import partial

    from unirex.data.formats.table import as_columns
    from unirex.scale.explaining import explain_corpus
    from unirex.scale.shards import SHARD_ROWS

    _name_model(options)
    _check_corpus(options)
    inputs.recall_reading(options)
    options.run = inputs.found_anywhere(options.run)
    how = {"budget": options.budget, "selector": options.selector, "unit": options.unit}
    asked = options["for"] or "predicted"
    targets = () if options.contrast else "all" if asked == ["all"] else asked
    totals = explain_corpus(
        options.file,
        options.out,
        partial(inputs.build_system, options),
        staff=staff,
        settings=inputs.system_settings(options),
        options={**how, "contrast": options.contrast and tuple(options.contrast), "targets": targets},
        columns=as_columns(options.columns),
        on_error=options.on_error,
        ending=options.parts or "jsonl",
        shard_rows=SHARD_ROWS if options.shard_rows is None else options.shard_rows,
        verify=options.verify,
    )
    skipped = f", {totals['skipped']:,} bad rows skipped (skipped.txt)" if totals["skipped"] else ""
    print(
        f"{totals['texts']:,} texts, {totals['rows']:,} explanations in {totals['shards']:,} parts{skipped}; "
        f"manifest in {options.out.rstrip('/')}/manifest.json"
    )
    return 0


def _check_corpus(options: Namespace) -> None:
    """A corpus is files in, parts out; nothing that needs all explanations at once."""
    if not options.file or options.file == inputs.STANDARD_INPUT or not options.out:
        raise UserError("--engine needs files and a folder: --file 'folder/*.jsonl' --out explained/")
    for name in ("json", "html", "label_studio", "data", "texts"):
        if options[name]:
            raise UserError(
                f"--engine writes parts into --out; leave out {name if name == 'texts' else f'--{name}'}."
            )
    if Path(options.out).is_file():
        raise UserError(f"{options.out}: is a file; with --engine, --out is a folder.")
    out, options.out = options.out, None
    _check(options)
    options.out = out


def _targets(options: Namespace, system: System) -> Sequence[Label] | Literal["predicted"]:
    """The labels of `--for`; all of the system's if it says so; by default those that are predicted."""
    if options.contrast:
        return ()
    asked = options["for"] or "predicted"
    return list(system.labels) if asked == ["all"] else asked


def _name_model(options: Namespace) -> None:
    """Set `run` and `texts`: the first positional is the system unless --model names one."""
    if options.model is None:
        if options.run is None:
            raise UserError('explain needs a system or --model: unirex explain RUN "a fine film"')
        return
    if options.run is not None:
        if Path(options.run).is_dir():
            raise UserError(f"{options.run}: --model names the model already; leave out one of them.")
        options.texts = [options.run, *options.texts]
    options.run = options.model


def _check(options: Namespace) -> None:
    """One source to explain, no option without effect and nothing overwritten."""
    if options.parts and not options.engine:
        raise UserError("--parts is for --engine local or --engine ray; it would do nothing here.")
    if options.budget is not None:
        check_budget(options.budget)
    check_names(options.unit, options.selector)
    if options["for"] and options.contrast:
        raise UserError("--for and --contrast: give one; a contrast is for its first label already.")
    given = [source for source in (options.texts, options.file, options.data) if source]
    if not given and sys.stdin is not None and not sys.stdin.isatty():
        options.file, given = inputs.STANDARD_INPUT, [inputs.STANDARD_INPUT]
    if len(given) != 1:
        raise UserError(
            'explain needs texts, --file or --data: unirex explain RUN "a fine film" | --file texts.csv'
        )
    if options.number is not None and options.number < 1:
        raise UserError(f"--number {options.number}: must be at least 1.")
    if not options.data:
        for name in shared.given_options(options, shared.example_options):
            if not (options.file and name in FILE_OPTIONS):
                what = "--file" if options.file else "texts"
                raise UserError(f"--{name} is for --data; it has no effect on {what}.")
    for name in ("for", "contrast"):
        if options.label_studio and options[name]:
            raise UserError(f"--label_studio: tasks show why the label is predicted; leave out --{name}.")
    if options.label_studio:
        path = Path(options.label_studio)
        if path.suffix != ".json":
            raise UserError(f"{path}: tasks for Label Studio are JSON; give a name that ends in .json.")
        inputs.check_new(path.with_suffix(".xml"))  # the project's setup
    if options.pair and not options.texts:
        raise UserError(
            "--pair is for texts on the command line; of a file name two columns: --columns.text a,b"
        )
    if options.choices is not None and not options.texts:
        raise UserError("--choices are for texts on the command line; a file has a column for them.")
    targets = [Path(options[name]) for name in TARGETS if options[name]]
    for target in targets:
        inputs.check_new(target)
        if targets.count(target) > 1:
            raise UserError(f"{target}: is named for two outputs; give each a name of its own.")


def _read(options: Namespace) -> Iterable[Iterable[Example]]:
    """The examples of a file or a dataset as one batch; those of standard input in batches as they arrive."""
    from unirex.data.formats.table import as_columns, read_inputs, stream_inputs

    if options.data:
        options.split = options.split or "test"
        return [inputs.first_examples(inputs.selected_examples(options), options.number)]
    if options.file is None:
        return []
    columns = as_columns(options.columns)
    if options.file != inputs.STANDARD_INPUT:
        records = read_inputs(options.file, columns=columns)
        return [inputs.named_stream((record.example for record in records), options)]
    parts = stream_inputs(sys.stdin.buffer, name="standard input", columns=columns)
    return (inputs.named_stream((record.example for record in part), options) for part in parts)


def _typed_texts(options: Namespace, system: System) -> Sequence[Example]:
    """The texts of the command line, as many at a time as the system reads."""
    from unirex.system import as_example

    trained = system.model.config.built_layout().segments
    if options.pair and trained not in (None, 2):
        raise UserError(f"--pair: this system was trained on other examples; texts at a time: {trained}.")
    size = trained or (2 if options.pair else 1)
    if len(options.texts) % size:
        raise UserError(f"this system reads {size} texts at a time, but there are {len(options.texts)}.")
    groups = (tuple(options.texts[start : start + size]) for start in range(0, len(options.texts), size))
    choices = {} if options.choices is None else {"choices": options.choices}
    return [as_example({"segments": group, **choices}, number) for number, group in enumerate(groups)]


def _put(options: Namespace, read: Sequence[Example], explanations: Iterable[Explanation]) -> list[str]:
    """Print and write the explanations as they come; the lines that say where they are.

    Only a page and tasks need all of them at once.
    """
    from unirex.report import explanation_page

    done: list[str] = []
    kept: list[Explanation] = []
    if options.json or not any(options[name] for name in TARGETS):
        explanations = _printed(explanations, as_json=options.json)
    if options.html or options.label_studio:
        explanations = _kept(explanations, kept)
    if options.out:
        _write_jsonl(Path(options.out), explanations)
        done.append(f"explanations in {options.out}")
    for _ in explanations:  # what no file has taken yet
        pass
    if options.html:
        write_file(Path(options.html), explanation_page(kept, title="Explanations"))
        done.append(f"page in {options.html}")
    if options.label_studio:
        done.append(_write_tasks(Path(options.label_studio), read, kept))
    return done


def _printed(explanations: Iterable[Explanation], *, as_json: bool) -> Iterator[Explanation]:
    """The explanations, each printed on its way."""
    from unirex.report import print_explanation

    console = Console()
    for explanation in explanations:
        if as_json:
            print(_json(explanation), flush=True)
        else:
            print_explanation(explanation, console)
        yield explanation


def _kept(items: Iterable[T], kept: list[T]) -> Iterator[T]:
    """The items, each put into a list on its way."""
    for item in items:
        kept.append(item)
        yield item


def _json(explanation: Explanation) -> str:
    return json.dumps(explanation.to_dict(), ensure_ascii=False)


def _write_tasks(path: Path, examples: Sequence[Example], explanations: Sequence[Explanation]) -> str:
    """Write the rationales as predictions for Label Studio, and the project's setup beside them."""
    from unirex.data.convert import text_names
    from unirex.data.formats.label_studio import labeling_config, tasks

    names = text_names(len(examples[0].segments)) if examples else ("text",)
    write_file(path, json.dumps(tasks(examples, explanations=explanations, segments=names), indent=1))
    labels = list(explanations[0].probabilities) if explanations else []
    choices = bool(examples) and examples[0].choices is not None
    write_file(path.with_suffix(".xml"), labeling_config(labels, names, choices=choices))
    return f"tasks in {path}, the project's setup in {path.with_suffix('.xml')}"


def _write_jsonl(path: Path, explanations: Iterable[Explanation]) -> None:
    """Stream one object a line; the file appears when it is complete."""

    def write(draft: Path) -> None:
        with draft.open("w", encoding="utf-8") as file:
            file.writelines(f"{_json(explanation)}\n" for explanation in explanations)

    replace_file(path, write)
