"""`unirex train`: a system on your data, by any method."""

from __future__ import annotations

import random
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import yaml
from jsonargparse import ArgumentParser, Namespace

from unirex.cli import inputs, shared
from unirex.config import Config, check_keys, flat, merge, plain, read_settings
from unirex.errors import UserError
from unirex.files import duration
from unirex.methods.catalogue import check_variant, family, method_names
from unirex.methods.presets import dataset_name
from unirex.methods.resolving import base_settings, chosen_preset

if TYPE_CHECKING:
    from unirex.data.example import Example, Splits
    from unirex.system import System

METHOD = "slm-fp"
SUMMARY = 200  # dev texts of the table at the end: seconds rather than minutes


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Every setting of a system and its training, with the defaults of the method and the preset."""
    parser.add_argument("--config", action="config", help="settings as a YAML file")
    _run_options(parser)
    parser.add_class_arguments(Config)
    # Method and preset decide the defaults, so the arguments are searched for them before they are parsed.
    given = _checked_file(_value_of("--config", arguments))
    method = str(_value_of("--method", arguments) or given.get("method") or METHOD)
    chosen = chosen_preset(given, _value_of("--preset", arguments))
    dataset = dataset_name(_value_of("--data", arguments) or given.get("data"))
    user = merge(given, _deciding_settings(method, given, arguments))
    defaults = base_settings(method, chosen, user, dataset=dataset)
    parser.set_defaults(flat(defaults, keep=("extractor_options",)))
    parser.set_defaults({"data_options": chosen.data_options(dataset)})


def _deciding_settings(method: str, given: Mapping[str, Any], arguments: Sequence[str]) -> dict[str, Any]:
    """The settings among the arguments that other defaults depend on: the variant and the extractor."""
    group, extractor = family(method), _value_of("--extractor", arguments)
    table = yaml.safe_load(_value_of(f"--{group}", arguments) or "{}")
    in_table = table.get("variant") if isinstance(table, dict) else None
    variant = _value_of(f"--{group}.variant", arguments) or in_table
    deciding: dict[str, Any] = {"extractor": extractor} if extractor else {}
    if variant:
        deciding[group] = {"variant": variant}
        check_variant(method, given, deciding)
    return deciding


def run(options: Namespace) -> int:
    """Train a system and keep the run in `--out`."""
    from unirex.methods import fit
    from unirex.training.processes import is_first_process

    shared.use_threads(options.threads)
    for name, example in (("data", "reviews.jsonl"), ("out", "runs/mine")):
        if not options[name]:
            raise UserError(f"train needs --{name}, as in --{name} {example}")
    if options.summary < 0:
        raise UserError(f"--summary {options.summary}: give how many dev texts, or 0 for no summary.")
    chosen = inputs.use_preset(options)
    data = inputs.read_dataset(options.data, options, seed=options.data_seed)
    given = options.as_dict()
    try:
        system = fit(
            options.method,
            data,
            out=options.out,
            resume=options.resume,
            force=options.force,
            stages=options.stages,
            preset=chosen.name,
            config={field.name: given[field.name] for field in fields(Config)},
        )
    except KeyboardInterrupt:
        from unirex.training.epochs import CHECKPOINT_EVERY

        print(
            "\nunirex: stopped; the same command with --resume goes on from the last checkpoint: one is kept "
            f"after every epoch, and inside an epoch every {duration(CHECKPOINT_EVERY)}.",
            file=sys.stderr,
        )
        return 130
    if not is_first_process():
        return 0
    print(f"{system.name}: trained, saved in {options.out}")
    if options.summary:
        _summarize(system, data["dev"], options.summary, chosen.columns)
    print(f"next: {_evaluation_command(options, data)}")
    return 0


def _summarize(system: System, dev: Sequence[Example], number: int, columns: Sequence[str]) -> None:
    """Performance, faithfulness and plausibility on some of the dev texts."""
    from unirex.evaluation import evaluate

    # Drawn, as the first of sorted data are no fair part.
    drawn = sorted(random.Random(0).sample(range(len(dev)), min(number, len(dev))))
    texts = [dev[index] for index in drawn]
    results = evaluate(system, texts, draws=1, beside=(), progress=True)
    which = f"{len(texts)} of {len(dev)}" if len(texts) < len(dev) else f"all {len(dev)}"
    print(f"\nOn dev, {which} texts:\n{results.table(columns)}\n")


def _evaluation_command(options: Namespace, data: Splits) -> str:
    """The command that measures the system on test, or on dev where test has no labels."""
    test = data.get("test", ())
    labelled = bool(test) and all(example.label is not None for example in test)
    run = f"./{options.out}" if options.out.startswith("-") else options.out
    words = ["unirex", "evaluate", run, *shared.typed_option("data", options.data)]
    words += shared.given_preset(options)
    return shlex.join(words if labelled else [*words, "--split", "dev"])


def _run_options(parser: ArgumentParser) -> None:
    """Options beside the settings of the system."""
    add = parser.add_argument
    add("--method", default=METHOD, help=f"one of {', '.join(method_names())}")
    shared.preset_option(parser)
    add("--data", type=str, help="a dataset name, a file or a folder")
    shared.dataset_options(parser)
    add("--out", type=str, help="folder for the run; must be new")
    add("--resume", action="store_true", help="go on with the run in --out")
    add("--force", action="store_true", help="train anew what is there, stages included; replaces --out")
    add(
        "--stages", type=str, help="folder for the stages of fresh and l2e, to share them (default: in --out)"
    )
    add("--summary", type=int, default=SUMMARY, help="dev texts measured at the end; 0: none")
    shared.threads_option(parser)


def _checked_file(path: str | None) -> dict[str, Any]:
    """The settings of a configuration file; an unknown key is an error that names the file."""
    if path is None:
        return {}
    settings = read_settings(path)
    try:
        check_keys(settings, plain(Config()) | dict.fromkeys(shared.defaults_of(_run_options)))
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return settings


def _value_of(option: str, arguments: Iterable[str]) -> str | None:
    """The value given to an option, before anything is parsed.

    >>> _value_of("--method", ["train", "--method=aa-f"]), _value_of("--method", ["--method", "vanilla"])
    ('aa-f', 'vanilla')
    """
    rest = iter(arguments)
    for argument in rest:
        if argument == option:
            return next(rest, None)
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
    return None
