"""What the commands do. Imported only when one is run."""

from __future__ import annotations

import sys

from jsonargparse import Namespace

from unirex.cli import OWN
from unirex.cli_evaluate import evaluate
from unirex.cli_explain import explain
from unirex.cli_inputs import as_typed, asked_data, use_threads
from unirex.errors import UserError

__all__ = ["demo", "evaluate", "explain", "train", "use_threads"]


def train(options: Namespace) -> int:
    """`unirex train`."""
    from unirex.methods import fit

    for name, example in (("data", "reviews.jsonl"), ("out", "runs/mine")):
        if not options[name]:
            raise UserError(f"train needs --{name}, as in --{name} {example}")
    data = asked_data(options)
    settings = options.as_dict()
    for name in (*OWN, "config"):
        settings.pop(name, None)
    try:
        system = fit(
            options.method,
            data,
            out=options.out,
            resume=options.resume,
            force=options.force,
            stages=options.stages,
            config=settings,
        )
    except KeyboardInterrupt:
        print(
            "\nunirex: stopped; the same command with --resume goes on from the last epoch.", file=sys.stderr
        )
        return 130
    print(f"{system.name}: trained, saved in {options.out}")
    print(f"next: unirex evaluate {options.out} --data {options.data}{as_typed(options)}")
    return 0


def demo(options: Namespace) -> int:
    """`unirex demo`."""
    from unirex.demo import run_demo

    try:
        report = run_demo(options.out)
    except KeyboardInterrupt:
        print("\nunirex: stopped; the same command goes on from the last finished epoch.", file=sys.stderr)
        return 130
    print(f"\nOpen the report in a browser: {report.resolve().as_uri()}")
    return 0
