"""Hostile texts, labels and ids through every output: none steers a terminal, a page or a spreadsheet."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from campaign.children import check_refused, check_succeeded, command, run
from campaign.mutate import json_bytes
from unirex.data.formats.label_studio_tasks import NOT_IN_XML

LIMIT = 300
MARK = "q5f3z"  # in everything that a page would run
PIECES = (
    f"<script>{MARK}()</script>",
    f"</script><script>{MARK}()</script>",
    f'" onmouseover="{MARK}()',
    f"' onload='{MARK}()",
    f"<img src=x onerror={MARK}()>",
    f"<a href=javascript:{MARK}()>x</a>",
    f"<!--{MARK}",
    f"]]>{MARK}",
    "&lt;script&gt;",
    "\x1b[2J\x1b[31m",
    "\x07\x08\x9b31m",
    "\u202egnp.exe\u202c",
    "\u2066x\u2069",
    "\ufeff",
    "\u2028\u2029",
    "\r\n",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "\t=1",
    '"quoted", and; more',
    "😀👩‍👩‍👧‍👦🇩🇪",
    "é́́́́",
    "العربية עברית 电影",
    "x" * 5000,
    "$\\alpha_{x}$ \\input{/etc/passwd}",
    "[bold red]markup[/bold red] [/]",
    "{{7*7}} ${7*7} %s %n",
    "null",
    "NaN",
    "good film",
)

NAMES = ("+1+1", "@SUM(1)", f"<script>{MARK}()</script>", "\x1b[31m")  # of a system that is compared


def case(chance: random.Random, folder: Path, stock: Path) -> str:
    """Write hostile rows, make a system with hostile labels, and put both through some commands."""
    data, labels = _data(chance, folder / "data.jsonl")
    _save_system(folder / "system", stock / "learner", labels, chance)
    for name in chance.sample([*OUTPUTS], 2):
        ended = run(command(*OUTPUTS[name](folder / "system", data, folder)))
        if "label_studio" in name and any(map(NOT_IN_XML.search, labels)):
            check_refused(ended)  # its interface is XML, which cannot hold these labels
            continue
        _check_terminal(check_succeeded(ended), as_json="--json" in name)
    if (folder / "evaluation").exists():
        for target in (("--out", folder / "table.csv"), ("--html", folder / "compare.html")):
            named = f"{chance.choice(NAMES)}={folder / 'evaluation'}"
            said = check_succeeded(run(command("compare", named, "--draws", 50, *target)))
            _check_terminal(said, as_json=False)
    for path in folder.rglob("*"):
        if path.is_file():
            CHECKS.get(path.suffix, lambda _: None)(path)
    return "clean"


def _data(chance: random.Random, path: Path) -> tuple[Path, tuple[str, str]]:
    labels = tuple(f"{_text(chance, 1).strip()} {number}" for number in range(2))
    rows: list[dict[str, Any]] = []
    for number in range(12):
        text = _text(chance, chance.randint(1, 4))
        text = text if text.strip() else "film"
        start = chance.randrange(len(text))
        spans = [[start, start + 1]] if text[start].strip() else []
        name = f"{number} {_text(chance, 1).strip()[:50]}"
        split = ("train", "dev", "test")[number % 3]
        rows.append(
            {"id": name, "text": text, "label": labels[number // 3 % 2], "rationale": spans, "split": split}
        )
    path.write_bytes(b"".join(json_bytes(row) + b"\n" for row in rows))
    return path, labels


def _text(chance: random.Random, pieces: int) -> str:
    return " ".join(chance.choices(PIECES, k=pieces))


def _save_system(folder: Path, encoder: Path, labels: tuple[str, ...], chance: random.Random) -> None:
    import tiny
    from unirex.models.encoders import load_pretrained
    from unirex.system import System

    model = tiny.build_model(encoder, labels=labels, seed=chance.randrange(100), pooling="mean")
    System(model, load_pretrained(str(encoder), kind="tokenizer")).save_pretrained(folder)


Output = Callable[[Path, Path, Path], list[object]]
OUTPUTS: dict[str, Output] = {
    "explain": lambda system, data, _: ["explain", system, "--data", data],
    "explain --json": lambda system, data, _: ["explain", system, "--data", data, "--json"],
    "explain --html": lambda system, data, out: ["explain", system, "--data", data, "--html", out / "x.html"],
    "explain --out": lambda system, data, out: ["explain", system, "--data", data, "--out", out / "x.jsonl"],
    "explain --label_studio": lambda system, data, out: [
        *("explain", system, "--data", data, "--label_studio", out / "tasks.json")
    ],
    "evaluate": lambda system, data, out: [
        *("evaluate", system, "--data", data, "--draws", 1, "--out", out / "evaluation")
    ],
    "global": lambda system, data, out: ["global", system, "--data", data, "--html", out / "global.html"],
    "global --json": lambda system, data, _: ["global", system, "--data", data, "--json"],
    "data show": lambda _, data, __: ["data", "show", data],
    "data show --html": lambda _, data, out: ["data", "show", data, "--html", out / "show.html"],
    "data stats": lambda system, data, _: ["data", "stats", data, "--encoder", system],
    "data stats --json": lambda system, data, _: ["data", "stats", data, "--encoder", system, "--json"],
    "data convert": lambda _, data, out: ["data", "convert", data, out / "copy.parquet"],
}


def _check_terminal(said: str, *, as_json: bool) -> None:
    if as_json:  # one object a line, or one in all
        # Not `splitlines`, which also cuts at characters that a text may hold, such as U+2028.
        lines = said.strip().split("\n") if said.startswith("{") and "\n{" in said else [said]
        for line in lines:
            strict_json(line)
    strange = {letter for letter in said if (letter < " " and letter not in "\n\t") or letter == "\x7f"}
    if not as_json:
        strange |= {
            letter for letter in said if "\x80" <= letter < "\xa0" or letter in "\u202a\u202e\u2066\u2069"
        }
    assert not strange, f"control characters {sorted(strange)!r} in {said!r}"


def strict_json(text: str) -> Any:
    """JSON without NaN and infinity, which the standard does not have."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} in JSON: {text[:500]}")

    return json.loads(text, parse_constant=refuse)


class _Page(HTMLParser):
    """What a browser would run in a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.runs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name.startswith("on") or (name in ("href", "src") and str(value).startswith("javascript:")):
                self.runs.append(f"<{tag} {name}={value}>")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script" and f"{MARK}()" in data and not data.lstrip().startswith(("{", "[")):
            self.runs.append(data[:200])


def _check_page(path: Path) -> None:
    page = _Page()
    text = path.read_text("utf-8")
    page.feed(text)
    page.close()
    assert not page.runs, f"{path.name} runs {page.runs[:3]}"
    assert f"<script>{MARK}" not in text, f"{path.name}: a script element from the data"


def _check_table(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            for cell in row:
                number = cell.lstrip("+-").replace(".", "", 1).replace("e-", "", 1).isdigit()
                assert number or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), (
                    f"{path.name}: {cell!r}"
                )


def _check_lines(path: Path) -> None:
    for line in path.read_text("utf-8").split("\n"):
        if line:
            strict_json(line)


CHECKS: dict[str, Callable[[Path], object]] = {
    ".html": _check_page,
    ".csv": _check_table,
    ".json": lambda path: strict_json(path.read_text("utf-8")),
    ".jsonl": _check_lines,
}
