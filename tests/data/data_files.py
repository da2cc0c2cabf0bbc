"""Small data files for the tests of readers."""

import csv
import json

import pyarrow as pa
from pyarrow import parquet

from unirex.errors import UserError


def write_rows(path, rows):
    """Write rows in the format of the suffix, by default JSON Lines; a text, or a row of text, as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(rows, str):
        path.write_text(rows, "utf-8")
    elif path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0], delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    else:
        lines = (row if isinstance(row, str) else _json(row) for row in rows)
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="")
    return path


def _json(row):
    text = json.dumps(row, ensure_ascii=False)
    # Half a surrogate pair has no UTF-8, so it is escaped.
    return text if text.encode("utf-8", "ignore").decode() == text else json.dumps(row)


def _cell(value):
    return json.dumps(value) if isinstance(value, list | dict) else value


def records_or_user_error(read, path, **options):
    """Whatever the file holds, a reader gives records or an error that names the file."""
    try:
        assert isinstance(read(path, **options), list)
    except UserError as error:
        assert str(path) in str(error)
