"""The project keeps its promises: imports point one way, importing is light, the README's code runs."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "unirex"

TASK = "rationale-classification"

# The straight line: data flows from left to right, so a module imports only from its left.
LINE = (
    ("errors", "registry", "files"),
    ("data", "metrics", "explanation"),
    ("encoding",),
    ("models",),
    ("select", "perturb"),
    ("extractors", "step"),
    ("objectives", "config"),
    ("modeling", "system", "pipeline"),
    ("training",),
    ("methods",),
    ("paper", "report"),
    ("evaluation",),
    ("eraser", "comparison"),
    ("demo", "bench"),
    (
        "cli_list",
        "cli_inputs",
        "cli_explain",
        "cli_evaluate",
        "cli_compare",
        "cli_eraser",
        "cli_eraser_commands",
        "cli_nrg",
        "cli_commands",
        "cli",
        "cli_data",
        "cli_data_commands",
    ),
)
PLACE = {name: place for place, names in enumerate(LINE) for name in names}
FILES = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Parts of the package a file imports when it is run (annotations-only imports do not count)."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for child in block.body
        for node in ast.walk(child)
    }
    names = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "unirex":
            names |= {node.module.split(".")[1]} if "." in node.module else {one.name for one in node.names}
    return names & PLACE.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_from_right_to_left(path):
    part = part_of(path)
    assert part in PLACE, f"{part} has no place in the line"
    wrong = {name for name in imported(path) if PLACE[name] > PLACE[part]}
    assert not wrong, f"{part} imports {wrong}, which stand to its right"


@pytest.mark.parametrize("part", ["data", "metrics", "report"])
def test_these_know_nothing_of_torch(part):
    code = f"import sys, unirex.{part}; print('torch' in sys.modules, 'transformers' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False"]


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, unirex; unirex.UserError; print(sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"torch", "transformers", "numpy", "lightning", "jsonargparse"} & set(ast.literal_eval(out))


@pytest.mark.parametrize(
    "first", ["unirex, transformers", "transformers, unirex", "transformers.pipelines, unirex"]
)
def test_transformers_knows_the_pipeline_whichever_is_imported_first(first):
    code = f"import {first}; from transformers.pipelines import SUPPORTED_TASKS as s; print('{TASK}' in s)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "True"


def test_every_public_name_exists():
    import unirex

    for name in unirex.__all__:
        assert getattr(unirex, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        unirex.nothing  # noqa: B018


def test_nothing_is_ever_unpickled():
    forbidden = re.compile(r"\bpickle\.load|torch\.load\(|joblib\.load|allow_pickle=True|\beval\(|\bexec\(")
    for path in FILES:
        for line in path.read_text("utf-8").splitlines():
            assert not forbidden.search(line.replace(".eval(", "").replace("model.eval(", "")), (
                f"{path}: {line}"
            )


def test_the_versions_agree():
    import tomllib

    import unirex

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == unirex.__version__
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text("utf-8").splitlines()


def readme_blocks(language: str) -> list[str]:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.S | re.M)
    return [code for name, code in blocks if name == language]


def test_the_readme_code_runs(learner, tmp_path, monkeypatch, capsys):
    """As printed, but on a small corpus and a tiny encoder."""
    import unirex
    from planted import planted

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(unirex, "load_dataset", lambda name: planted((48, 16, 16)), raising=False)
    for code in readme_blocks("python"):
        exec(compile(code.replace('"minilm"', repr(str(learner))), "README.md", "exec"), {})
    assert "random scores" in capsys.readouterr().out
    assert (tmp_path / "runs/slm/model.safetensors").exists()


def test_the_readme_commands_exist():
    from unirex.cli import build_parser

    lines = [line for block in readme_blocks("") for line in block.splitlines() if line.startswith("unirex ")]
    assert len(lines) >= 5
    for line in lines:
        arguments = shlex.split(line.partition("#")[0])[1:]
        assert build_parser(arguments).parse_args(arguments).command == arguments[0]
