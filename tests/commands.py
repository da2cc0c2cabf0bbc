"""Commands called as the command line calls them."""

import json
from pathlib import Path

from unirex.cli import main


def write_rows(path: Path, rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def succeeds(capsys, *arguments: object) -> str:
    """What a command prints that ends well."""
    capsys.readouterr()  # what fixtures printed
    code, out, err = run(capsys, *arguments)
    assert code == 0, err
    return out


def fails(capsys, *arguments: object) -> str:
    """The one line a mistake gets, after those that say what is being done."""
    capsys.readouterr()
    code, _, err = run(capsys, *arguments)
    news = ("loading ", "note: ")
    lines = [line for line in err.splitlines() if line.strip() and not line.startswith(news)]
    assert code == 2 and len(lines) == 1, err
    assert lines[0].startswith("unirex: error: ") and "Traceback" not in err
    return lines[0]
