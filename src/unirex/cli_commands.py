"""What the commands do. Imported only when one is run."""

from __future__ import annotations

import sys
from pathlib import Path

from jsonargparse import Namespace

from unirex.cli import OWN
from unirex.cli_explain import explain
from unirex.cli_inputs import as_typed, asked_data, evaluated_examples, expected, explained_by, use_threads
from unirex.errors import UserError
from unirex.progress import Progress
from unirex.system import load

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
        system = fit(options.method, data, out=options.out, resume=options.resume, config=settings)
    except KeyboardInterrupt:
        print(
            "\nunirex: stopped; the same command with --resume goes on from the last epoch.", file=sys.stderr
        )
        return 130
    print(f"{system.name}: trained, saved in {options.out}")
    print(f"next: unirex evaluate {options.out} --data {options.data}{as_typed(options)}")
    return 0


def evaluate(options: Namespace) -> int:
    """`unirex evaluate`."""
    from unirex.evaluation import evaluate_to

    system = explained_by(load(options.run), options)
    examples = evaluated_examples(options)
    folder = Path(options.out or Path(options.run) / "evaluation" / evaluation_name(options))
    with Progress("evaluating", **expected(examples, options.data)) as progress:
        summary = evaluate_to(
            folder,
            system,
            examples,
            budgets=options.budgets,
            removal=options.removal,
            batch_size=options.batch_size,
            advance=progress.advance,
        )
    print(summary.table())
    print(f"{summary.count} texts; records and metrics in {folder}")
    return 0


def evaluation_name(options: Namespace) -> str:
    """A folder name that tells evaluations with different settings apart."""
    budgets = options.budgets and "k" + "-".join(f"{budget:g}" for budget in options.budgets)
    steps = [f"{key}-{value}" for key, value in options.extractor_options.items()]
    read = [f"{key}-{value}" for key, value in options.data_options.items()]
    read += [options.annotators] if options.annotators != "union" else []
    read += [f"seed-{options.data_seed}"] if options.data_seed else []
    asked = [options.split, options.extractor, *steps, options.removal, budgets]
    parts = [Path(options.data).stem, *read, *asked]
    return "-".join(str(part) for part in parts if part)


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
