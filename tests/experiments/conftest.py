"""Studies that all tests of experiments share."""

from pathlib import Path

import pytest

import planted
from tiny_studies import ROWS, command
from unirex.cli import main
from unirex.data.convert import convert


@pytest.fixture(scope="session")
def place(tmp_path_factory, learner):
    """A folder with data, a tiny encoder, and the cells that all studies share."""
    folder = tmp_path_factory.mktemp("studies")
    convert(planted.planted((24, 8, 8)), folder / "planted.jsonl")
    (folder / "encoder").symlink_to(learner)
    return folder


@pytest.fixture(scope="session")
def studied(place):
    """`studied("main")` is the folder of an experiment that was run at the scale `tiny`."""

    def folder(name: str) -> Path:
        out = place / name
        if not (out / "report.html").exists():
            rows = ["--rows", *ROWS[name]] if name in ROWS else []
            assert main(command("run", place, name, out, *rows)) == 0
        return out

    return folder
