"""Damaged data of every format: it is read or refused in a line, and what `check` passes can be converted."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from campaign.mutate import json_bytes, mutated_bytes, mutated_json

LIMIT = 60
TARGETS = (".jsonl", ".csv", ".tsv", ".parquet", ".json")
TREES = ("(3 (2 so) (4 good))", "(1 (2 so) (0 bad))", "(4 (3 (2 a) (4 fine)) (2 film))", "(0 (1 dull) (2 .))")


def case(chance: random.Random, folder: Path, stock: Path) -> str:
    """Write sound data in some format, damage it, and read it in every way."""
    name = chance.choice([*WRITERS])
    source = folder / "source"
    source.mkdir()
    path, options = WRITERS[name](source, chance)
    _damage(path, chance)
    if name == "txt":
        return _read_texts(path)
    options |= {"on_error": chance.choice(("stop", "stop", "skip", "clip"))}
    return _read(path, options) + _checked_and_converted(path, options, folder, chance)


def _read(path: Path, options: dict[str, Any]) -> str:
    from unirex.data import load_dataset
    from unirex.errors import UserError

    root = {"root": path} if options.get("name") else {}
    given = {key: value for key, value in options.items() if key != "name"}
    try:
        load_dataset(options.get("name", path), **root, **given)
    except UserError as error:
        assert str(error).strip(), "an error without a message"
        return "refused"
    return "read"


def _read_texts(path: Path) -> str:
    from unirex.data.formats.table import as_columns, read_inputs
    from unirex.errors import UserError

    try:
        list(read_inputs(str(path), columns=as_columns(None)))
    except UserError:
        return "refused"
    return "read"


def _checked_and_converted(path: Path, options: dict[str, Any], folder: Path, chance: random.Random) -> str:
    """What `check` says; if that is nothing, what `convert` writes must be read back equal."""
    from unirex.data.formats.label_studio_tasks import NOT_IN_XML

    if options["on_error"] != "stop":
        return ""
    source = [options["name"], "--root", str(path)] if "name" in options else [str(path)]
    code = called("data", "check", *source)
    assert code in (0, 1, 2), code
    if code:
        return ""
    data = _loaded(path, options)
    target = folder / f"target{chance.choice(TARGETS)}"
    code = called("data", "convert", source[0], str(target), *source[1:])
    if target.suffix == ".json" and any(map(NOT_IN_XML.search, map(str, data.info.labels))):
        assert code == 2, code
        return ", refused as tasks"
    assert code == 0, code
    _check_equal(data, target)
    return ", converted"


def _loaded(path: Path, options: dict[str, Any]) -> Any:
    from unirex.data import load_dataset

    return load_dataset(options.get("name", path), **({"root": path} if "name" in options else {}))


def called(*arguments: str) -> int:
    """The exit code of a command that says nothing a terminal could be steered by, and one line on errors."""
    code, out, err = captured(*arguments)
    said = out + err
    strange = [
        letter for letter in said if (letter < " " and letter not in "\n\t") or "\x7f" <= letter < "\xa0"
    ]
    assert not strange, f"control characters {strange[:5]!r} in {said!r}"
    assert code != 2 or len(err.strip().splitlines()) == 1, err
    return code


def captured(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command in this process."""
    from unirex.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    return code, out.getvalue(), err.getvalue()


def _check_equal(data: Any, target: Path) -> None:
    from unirex.data import load_dataset
    from unirex.data.convert import text_columns

    columns = text_columns(data)
    found = load_dataset(target, columns={"text": ",".join(columns)} if len(columns) > 1 else None)
    loose = target.suffix in (".csv", ".tsv", ".json")  # which have no types for labels
    assert _plain(found, loose) == _plain(data, loose), f"{target.name} is not what was read"


def _plain(data: Any, loose: bool) -> Any:
    from unirex.data.example import answer_labels

    return {
        split: [
            (
                example.segments,
                [*map(str, answer_labels(example.label))] if loose else example.label,
                example.choices,
                example.rationale,
            )
            for example in examples
        ]
        for split, examples in data.items()
    }


def _damage(path: Path, chance: random.Random) -> None:
    """Change one file, most often the first; one time in ten none, so that sound data is tried too."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    file = chance.choice(files)
    if chance.random() < 0.1:
        return
    data = file.read_bytes()
    if file.suffix == ".gz" and chance.random() < 0.7:
        file.write_bytes(gzip.compress(mutated_bytes(gzip.decompress(data), chance)))
    elif file.suffix in (".json", ".jsonl") and chance.random() < 0.6:
        file.write_bytes(_damaged_rows(data, chance))
    else:
        file.write_bytes(mutated_bytes(data, chance))
    if file.is_file() and chance.random() < 0.03 and path.is_dir():
        file.unlink()


def _damaged_rows(data: bytes, chance: random.Random) -> bytes:
    """JSON, or lines of it, with changes inside the values."""
    try:
        return json_bytes(mutated_json(json.loads(data), chance))
    except ValueError:
        lines = data.splitlines()
        at = chance.randrange(len(lines))
        lines[at] = json_bytes(mutated_json(json.loads(lines[at]), chance))
        return b"\n".join(lines) + b"\n"


Written = tuple[Path, dict[str, Any]]


def _rows(chance: random.Random) -> list[dict[str, Any]]:
    import planted

    data = planted.planted((12, 4, 4), seed=chance.randrange(1000))
    return [
        {
            "text": example.text,
            "label": example.label,
            "split": split,
            "rationale": [list(example.rationale[0][0])],
        }
        for split, examples in data.items()
        for example in examples
    ]


def _table(ending: str) -> Callable[[Path, random.Random], Written]:
    def write(folder: Path, chance: random.Random) -> Written:
        import planted
        from unirex.data.convert import convert

        if chance.random() < 0.3:
            made = chance.choice((planted.planted_segments, planted.planted_choices))
            data = made(sizes=(12, 4, 4))
        else:
            data = planted.planted((12, 4, 4), seed=chance.randrange(1000))
        plain = ending.removesuffix(".gz")
        path = convert(data, folder / f"data{plain}", split=chance.choice((None, "train")))[0]
        if ending.endswith(".gz"):
            path.rename(path := folder / f"data{ending}")
            path.write_bytes(gzip.compress(path.read_bytes()))
        return path, {}

    return write


def _json_array(folder: Path, chance: random.Random) -> Written:
    path = folder / "rows.json"
    path.write_bytes(json_bytes(_rows(chance)))
    return path, {}


def _excel(folder: Path, chance: random.Random) -> Written:
    from openpyxl import Workbook

    book, rows = Workbook(), _rows(chance)
    book.active.append(list(rows[0]))
    for row in rows:
        book.active.append(
            [json.dumps(value) if isinstance(value, list) else value for value in row.values()]
        )
    book.save(folder / "data.xlsx")
    return folder / "data.xlsx", {}


def _texts(folder: Path, chance: random.Random) -> Written:
    path = folder / "data.txt"
    path.write_text("\n".join(row["text"] for row in _rows(chance)), "utf-8")
    return path, {}


def _prodigy(folder: Path, chance: random.Random) -> Written:
    lines = [
        {
            "text": row["text"],
            "_input_hash": number,
            "_task_hash": number,
            "answer": chance.choice(("accept", "accept", "reject", "ignore")),
            "label": row["label"],
            "_annotator_id": chance.choice(("ann", "bob")),
            "spans": [{"start": row["rationale"][0][0], "end": row["rationale"][0][1], "label": "WHY"}],
        }
        for number, row in enumerate(_rows(chance))
    ]
    return _lines(folder / "prodigy.jsonl", lines), {"format": "prodigy"}


def _doccano(folder: Path, chance: random.Random) -> Written:
    lines = [
        {
            "id": number,
            "text": row["text"],
            "cats": [row["label"]],
            "entities": [
                {
                    "id": 1,
                    "label": "WHY",
                    "start_offset": row["rationale"][0][0],
                    "end_offset": row["rationale"][0][1],
                }
            ],
            "relations": [],
        }
        for number, row in enumerate(_rows(chance))
    ]
    return _lines(folder / "doccano.jsonl", lines), {}


def _eraser(folder: Path, chance: random.Random) -> Written:
    (folder / "docs").mkdir()
    for split in ("train", "val", "test"):
        lines = []
        for number, row in enumerate(_rows(chance)[:6]):
            name, words = f"{split}{number}", row["text"].split()
            at = chance.randrange(len(words))
            (folder / "docs" / name).write_text(row["text"], "utf-8")
            place = {"docid": name, "start_token": at, "end_token": at + 1, "text": words[at]}
            evidence = [[place | {"start_sentence": -1, "end_sentence": -1}]]
            lines.append(
                {"annotation_id": name, "classification": row["label"], "evidences": evidence, "query": ""}
            )
        _lines(folder / f"{split}.jsonl", lines)
    return folder, {}


def _trees(folder: Path, chance: random.Random) -> Written:
    place = folder / "sst"
    place.mkdir()
    for split in ("train", "dev", "test"):
        (place / f"{split}.txt").write_text("\n".join(chance.choices(TREES, k=8)) + "\n", "utf-8")
    return folder, {"name": "sst"}


def _lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(json_bytes(row) + b"\n" for row in rows))
    return path


WRITERS: dict[str, Callable[[Path, random.Random], Written]] = {
    **{
        ending: _table(ending)
        for ending in (".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".jsonl.gz", ".json")
    },
    "array": _json_array,
    "txt": _texts,
    "prodigy": _prodigy,
    "doccano": _doccano,
    "eraser": _eraser,
    "trees": _trees,
    **({"excel": _excel} if find_spec("openpyxl") else {}),
}
