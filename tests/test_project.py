"""The project keeps its promises: imports point one way, importing is light, the README's code runs."""

import ast
import re
import shlex
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "unirex"

TASK = "rationale-classification"

# The straight line: data flows from top to bottom, so a module imports only from its own row and those above.
LINE = (
    ("errors", "option_errors", "registry", "files", "database", "printable"),
    ("data", "metrics", "explanation"),
    ("encoding",),
    ("models",),
    ("select", "removals", "perturb"),
    ("extractors", "step"),
    ("objectives", "config"),
    ("modeling", "system", "pipeline"),
    ("training",),
    ("methods", "estimator"),
    ("paper", "report"),
    ("evaluation",),
    ("eraser", "comparison", "overview"),
    ("demo", "doctor", "bench", "experiments", "user_study", "annotate", "serve", "scale"),
    ("cli",),
)
RANK = {name: rank for rank, names in enumerate(LINE) for name in names}
FILES = sorted(SOURCE.rglob("*.py"))


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


def imports(path: Path) -> set[str]:
    """Modules of the package a file imports when it is run, in functions too (not for annotations alone)."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for child in block.body
        for node in ast.walk(child)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in skipped:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in names}
    return {name for name in found if name in MODULES and name not in ("unirex", module_of(path))}


@pytest.mark.parametrize("path", [path for path in FILES if path != SOURCE / "__init__.py"], ids=module_of)
def test_imports_point_upwards(path):
    part = module_of(path).split(".")[1]
    assert part in RANK, f"{part} has no place in the line"
    wrong = {name for name in imports(path) if RANK[name.split(".")[1]] > RANK[part]}
    assert not wrong, f"{part} imports {wrong}, which stand below it"


def test_no_imports_run_in_circles():
    order = TopologicalSorter({name: imports(path) for name, path in MODULES.items() if name != "unirex"})
    assert len(list(order.static_order())) == len(MODULES) - 1  # a CycleError names the circle


def test_the_order_of_imports_is_the_one_that_is_printed():
    rows = re.findall(r"^ ?\d+  (.+?)   ", (ROOT / "docs/architecture.md").read_text("utf-8"), re.M)
    assert tuple(tuple(row.split(" · ")) for row in rows) == LINE


def test_citations_of_the_specification_point_somewhere():
    anchors = {}
    for page in (ROOT / "docs/spec").glob("*.md"):
        text = page.read_text("utf-8")
        heads = [
            re.sub(r"[^\w -]", "", head).replace(" ", "-").lower()
            for head in re.findall(r"^#+ (.+)", text, re.M)
        ]
        anchors[page.name] = {"", *heads, *re.findall(r'<a id="([\w-]+)">', text)}
    written = [*SOURCE.rglob("*.yaml"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.py")]
    places = [*FILES, *written]
    cited = [
        (page, anchor)
        for path in places
        for page, anchor in re.findall(r"spec/([\w-]+\.md)#?([\w-]*)", path.read_text("utf-8"))
    ]
    assert len(cited) > 50
    assert not [(page, anchor) for page, anchor in cited if anchor not in anchors.get(page, ())]


HEAVY = {"torch", "transformers", "numpy", "lightning", "jsonargparse", "pyarrow", "matplotlib"}
LIGHT = (
    "metrics",
    "report",
    "eraser",
    "evaluation.predictions",
    "cli.eraser",
    "comparison",
    "cli.compare",
    "overview",
    "user_study",
    "serve.study",
    "annotate",
)


def test_what_needs_nothing_heavy_imports_nothing_heavy():
    """One after the other in one process, so that what was loaded on the way shows."""
    code = "import sys, unirex; unirex.UserError; print(sorted(sys.modules))\n"
    code += "import unirex.data; print(sorted(sys.modules))\n"
    code += f"import {', '.join(f'unirex.{name}' for name in LIGHT)}\n"
    code += "from unirex.experiments.cells import check_measuring\n"
    code += "check_measuring({'target': 'gold', 'dial': 0.5, 'probes': ['curves'], 'budgets': [5]})\n"
    code += "print(sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    alone, data, all_of_these = (set(ast.literal_eval(line)) for line in out.splitlines())
    assert not HEAVY & alone and not HEAVY & data
    assert not {"torch", "transformers", "matplotlib"} & all_of_these


def test_transformers_knows_the_pipeline_if_it_was_imported_before():
    """The other order is that of all tests of the pipeline."""
    code = "import transformers.pipelines, unirex\n"
    code += f"assert {TASK!r} in transformers.pipelines.SUPPORTED_TASKS"
    subprocess.run([sys.executable, "-c", code], check=True)


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
