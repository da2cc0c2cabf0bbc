"""`unirex serve`: systems behind HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser, Namespace

from unirex.cli.inputs import first_examples, recall_reading, selected_examples
from unirex.cli.shared import example_options, server_options, threads_option, use_threads
from unirex.errors import UserError
from unirex.files import say
from unirex.models.saved import check_saved
from unirex.serve import check_installed
from unirex.serve.settings import KEY, Batching, Limits, Settings

if TYPE_CHECKING:
    from unirex.serve.examples import Examples
    from unirex.system import System

SHOWN_EXAMPLES = 500  # of --data, if --number does not say how many


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What to serve, where, to whom and how much."""
    add = parser.add_argument
    add("runs", type=str, nargs="*", help="folders of trained systems; requests name them by their last part")
    add("--model", type=str, nargs="+", default=[], help="Hugging Face classifiers: folders or Hub ids")
    server_options(parser, key=f"that requests must carry; better in {KEY}, as others see options")
    add("--device", type=str, help="where to run, such as cuda")
    add("--log_texts", action="store_true", help="write the texts of requests to the log")
    add("--data", type=str, help="examples to explore: a dataset, a file or a folder")
    example_options(parser)
    parser.add_class_arguments(Limits, "limits")
    parser.add_class_arguments(Batching, "batching")
    threads_option(parser)


def run(options: Namespace) -> int:
    """Serve until stopped."""
    check_installed()
    from unirex.serve.running import check_port

    use_threads(options.threads)
    settings = Settings(
        host=options.host,
        api_key=options.api_key or os.environ.get(KEY) or None,
        limits=Limits(**options.limits.as_dict()),
        batching=Batching(**options.batching.as_dict()),
        log_texts=options.log_texts,
    )
    check_port(options.port)
    examples = read_examples(options)
    systems = load_systems([*options.runs, *options.model], options.device)
    return serve(systems, settings, options.port, examples)


def read_examples(options: Namespace) -> Examples | None:
    """The examples of `--data` that the explorer offers, read as in the training of the first system."""
    given = [name for name in ("split", "number") if options[name] is not None]
    if options.data is None:
        if given:
            raise UserError(f"--{given[0]} is of --data; name a dataset.")
        return None
    from unirex.serve.examples import Examples

    options.run = next(iter(options.runs), None)
    options.split = options.split or "test"
    recall_reading(options)
    number = SHOWN_EXAMPLES if options.number is None else options.number
    items = list(first_examples(selected_examples(options), number))
    return Examples(f"{PurePath(options.data).name}, {options.split}", items)


def load_systems(places: Sequence[str], device: str | None) -> dict[str, System]:
    """The systems by the names that requests use."""
    if not places:
        raise UserError("serve needs a system: unirex serve runs/slm | --model some-classifier")
    for place in places:
        check_saved(place)
    from unirex.system import load

    systems = {}
    for name, place in names(places).items():
        say(f"loading {place} …")
        systems[name] = load(place, device=device)
    return systems


def names(places: Iterable[str]) -> Mapping[str, str]:
    """Places by name: their last part, numbered where there are several of it.

    >>> names(["runs/slm", "old/slm", "some/classifier"])
    {'slm': 'runs/slm', 'slm-2': 'old/slm', 'classifier': 'some/classifier'}
    """
    found: dict[str, str] = {}
    for place in places:
        name = last = PurePath(place).name or "system"
        number = 1
        while name in found:
            number += 1
            name = f"{last}-{number}"
        found[name] = place
    return found


def serve(
    systems: Mapping[str, System], settings: Settings, port: int, examples: Examples | None = None
) -> int:
    """Listen, answer, and on Ctrl-C or SIGTERM finish what was accepted."""
    from unirex.serve.app import create_app
    from unirex.serve.running import run_app

    def announce(address: str) -> None:
        say(f"{', '.join(systems)} at {address} (explorer: /, API: /docs); Ctrl-C stops.")

    return run_app(create_app(systems, settings, dataset=examples), settings, port, announce=announce)
