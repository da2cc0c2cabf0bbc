"""The options of `unirex eraser …`: export, check, score submissions; the work waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jsonargparse import ArgumentParser, Namespace

from unirex.errors import UserError

POSITIVE = "positive"
NAMES = ("movies", "cose", "multirc", "esnli")  # datasets of ERASER that are known by name


def eraser_options(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """The sub-commands of `eraser`."""
    commands = parser.add_subcommands(required=False, dest="action")
    for name, (make, about) in ACTIONS.items():
        sub = ArgumentParser(exit_on_error=False, allow_abbrev=False, description=about)
        make(sub)
        commands.add_subcommand(name, sub, help=about)


def eraser(options: Namespace) -> int:
    """`unirex eraser …`."""
    if options.action is None:
        raise UserError(f"eraser needs to know what to do: unirex eraser {' | '.join(ACTIONS)}")
    from unirex import cli_eraser_commands  # heavier

    return cli_eraser_commands.RUN[options.action](options[options.action])


def known_options(arguments: Sequence[str]) -> list[str]:
    """Every option of the action that was called, for "did you mean"."""
    parser = ArgumentParser(exit_on_error=False)
    for name in [one for one in arguments if one in ACTIONS][:1]:
        ACTIONS[name][0](parser)
    return [option.lstrip("-") for one in parser._actions for option in one.option_strings]


def data_options(parser: ArgumentParser, *, required: bool) -> None:
    """The ERASER data that a submission is about."""
    about = f"folder of ERASER data, or a name: {', '.join(NAMES)}"
    parser.add_argument("--data", type=str, required=required, help=about)
    parser.add_argument("--root", type=str, help="folder of the named datasets, if not that of UNIREX_DATA")
    parser.add_argument("--split", type=str, default="test", help="train, dev or test")


def export_options(parser: ArgumentParser) -> None:
    """Options of `export`."""
    parser.add_argument("source", type=str, help="folder of an evaluation, or a file of its records")
    parser.add_argument("target", type=str, help="new file: the submission, .jsonl")
    data_options(parser, required=False)
    parser.add_argument(
        "--with_data",
        action="store_true",
        help="write docs.jsonl and the annotations beside it (without --data)",
    )
    parser.add_argument(
        "--word", type=str, default="max", help="score of a word from its tokens: max, mean, first"
    )
    parser.add_argument(
        "--hard", type=str, default=POSITIVE, help="hard rationale: positive, or a budget in per cent"
    )
    parser.add_argument("--within_sentences", action="store_true", help="end hard spans with their sentences")
    parser.add_argument(
        "--budget",
        type=float,
        help="size for comprehensiveness and sufficiency (default: nearest to people's)",
    )
    parser.add_argument("--removal", type=str, help="of those in the records (default: the first)")


def check_options(parser: ArgumentParser) -> None:
    """Options of `check`."""
    parser.add_argument("submission", type=str, help="the file to check")
    data_options(parser, required=True)
    parser.add_argument("--mirror", action="store_true", help="only what the official validator refuses")
    parser.add_argument("--labels", type=list[str], help="the classes, if not those of the annotations")


def score_options(parser: ArgumentParser) -> None:
    """Options of `score`."""
    parser.add_argument("submission", type=str, help="the file to score")
    data_options(parser, required=True)
    parser.add_argument("--iou", type=list[float], default=[0.5], help="thresholds of IOU")
    parser.add_argument(
        "--thresholds",
        type=list[float],
        help="of AOPC, shares of the tokens (default: 0.01, 0.05, 0.1, 0.2, 0.5)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--out", type=str, help="write the scores as JSON")


ACTIONS: dict[str, tuple[Callable[[ArgumentParser], None], str]] = {
    "export": (export_options, "Write the records of an evaluation as a submission."),
    "check": (check_options, "Find every fault of a submission."),
    "score": (score_options, "Score a submission by ERASER's own definitions."),
}
