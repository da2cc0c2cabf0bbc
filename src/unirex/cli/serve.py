"""`unirex serve`: systems behind HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser, Namespace

from unirex.cli.inputs import threads_option, use_threads
from unirex.errors import UserError
from unirex.files import say
from unirex.models.saved import check_saved
from unirex.serve import check_installed
from unirex.serve.settings import Batching, Limits, Settings

if TYPE_CHECKING:
    from unirex.system import System

KEY = "UNIREX_API_KEY"


def options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """What to serve, where, to whom and how much."""
    add = parser.add_argument
    add("runs", type=str, nargs="*", help="folders of trained systems; requests name them by their last part")
    add("--model", type=str, nargs="+", default=[], help="Hugging Face classifiers: folders or Hub ids")
    add(
        "--host",
        type=str,
        default="127.0.0.1",
        help="address to listen at; any but this machine's needs a key",
    )
    add("--port", type=int, default=8000, help="to listen at; 0: any that is free")
    add("--api_key", type=str, help=f"that requests must carry; better in {KEY}, as others see options")
    add("--device", type=str, help="where to run, such as cuda")
    add("--log_texts", action="store_true", help="write the texts of requests to the log")
    parser.add_class_arguments(Limits, "limits")
    parser.add_class_arguments(Batching, "batching")
    threads_option(parser)


def run(options: Namespace) -> int:
    """Serve until told to stop."""
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
    systems = load_systems([*options.runs, *options.model], options.device)
    return serve(systems, settings, options.port)


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


def serve(systems: Mapping[str, System], settings: Settings, port: int) -> int:
    """Listen, answer, and on Ctrl-C or SIGTERM finish what was accepted."""
    from unirex.serve.app import create_app
    from unirex.serve.running import run_app

    def announce(address: str) -> None:
        say(f"{', '.join(systems)} at {address} (API: /docs); Ctrl-C stops.")

    return run_app(create_app(systems, settings), settings, port, announce=announce)
