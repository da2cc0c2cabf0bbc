"""Packs: the finished measurements of a study without texts, in one small file that reports are made from."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unirex.comparison.evaluations import read_evaluation, value_table
from unirex.comparison.sources import EvaluationSource, find_source
from unirex.errors import UserError, one_line
from unirex.evaluation.value_table import ValueTable
from unirex.experiments.cells import Cell
from unirex.experiments.definition import Definition, Variant
from unirex.experiments.definition_file import as_definition
from unirex.experiments.results import StudyResults
from unirex.experiments.study import Measured
from unirex.files import write_file
from unirex.metrics.registry import HEADLINE, OUTCOMES

FORMAT = 1
ABOUT = "pack.json"
KEPT = (  # metrics of which every value is kept, under all removals
    *HEADLINE,
    "auprc_all_tokens",
    "token_f1_macro2_all_tokens",
    "convergence_delta",
    "seconds",
)
LARGEST = 64 << 20  # bytes of a file in a pack; a larger one is no measurement
DATE = (1980, 1, 1, 0, 0, 0)  # of all files, so that equal measurements make equal packs


@dataclass(frozen=True)
class Packed:
    """A finished measurement in a pack."""

    measured: Measured
    saved: Mapping[str, Any]  # metrics.json
    values: ValueTable
    place: str  # for messages

    @property
    def source(self) -> EvaluationSource:
        """To be compared."""
        settings = self.saved["settings"].get("run") or {}
        return EvaluationSource(self.place, lambda: iter(()), None, None, settings, self.saved, self.values)


@dataclass(frozen=True)
class Pack:
    """The finished measurements of a study without texts.

    Args:
        place: path of the file, for messages.
        definition: of the experiment at its scale.
        scale: its name.
        made: versions and revisions.
        planned: names of all measurements, done or not.
        measurements: those that are done.
    """

    place: str
    definition: Definition
    scale: str
    made: Sequence[Mapping[str, Any]]
    planned: Sequence[Sequence[Any]]
    measurements: Sequence[Packed]


def slot(measurement: Measured) -> tuple[str, int, str, str]:
    """Which place of the table a measurement has."""
    return measurement.variant.name, measurement.seed, measurement.trained_on, measurement.measured_on


def write_pack(results: StudyResults, path: Path) -> int:
    """Write what is finished of a study; the number of measurements."""
    write_file(path, _packed(results))
    return len(results.finished)


def pack_of(results: StudyResults) -> Pack:
    """What is finished of a study as a pack, without a file."""
    return _opened(io.BytesIO(_packed(results)), str(results.folder))


def _packed(results: StudyResults) -> bytes:
    if not results.finished:
        raise UserError(f"{results.folder}: no measurement is finished, so there is nothing to pack.")
    files: dict[str, bytes] = {}
    measurements = [_add(results, measurement, files) for measurement in results.finished]
    definition = asdict(results.definition)
    definition |= {"texts": (), "scales": {}}  # ids are of texts; the settings are those of the scale
    about = {
        "format": FORMAT,
        "definition": without_folders(definition),
        "scale": results.scale,
        "made": results.made,
        "planned": [slot(measurement) for measurement in results.study.measured],
        "measurements": without_folders(measurements),
        "sums": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    return _zipped({ABOUT: json.dumps(about, indent=1).encode(), **files})


def _add(results: StudyResults, measurement: Measured, files: dict[str, bytes]) -> dict[str, Any]:
    """Put the files of a measurement among those of the pack; what the pack says of it."""
    key, trained = measurement.cell.key, measurement.trained[-1]
    evaluation = read_evaluation(find_source(results.evaluation(measurement)))
    keys = [key for key in evaluation.columns.names if _is_kept(key)]
    examples, values = value_table(evaluation, keys).written()
    shared = f"examples/{hashlib.sha256(examples).hexdigest()[:16]}.parquet"
    saved = json.dumps(without_folders(results.saved(measurement))).encode()
    files |= {shared: examples, f"values/{key}.parquet": values, f"metrics/{key}.json": saved}
    return {
        "row": measurement.variant.row.name,
        "point": dict(measurement.variant.point),
        "preset": measurement.variant.preset,
        "seed": measurement.seed,
        "trained_on": measurement.trained_on,
        "measured_on": measurement.measured_on,
        "cell": key,
        "method": trained.content["method"],
        "config": trained.content["config"],
        "options": measurement.cell.content["options"],
        "split": measurement.cell.content["split"],
        "seconds": {cell.work: cell.result(results.store)["seconds"] for cell in (trained, measurement.cell)},
        "examples": shared,
    }


def _is_kept(key: str) -> bool:
    """Whether the values of a metric are in a pack; of the others there are means and intervals.

    >>> [_is_kept(key) for key in ("csd", "csd/mask_token", "csd@20", "auprc/wrong")]
    [True, True, False, False]
    """
    name, _, part = key.partition("/")
    return name in KEPT and part not in OUTCOMES


def without_folders(value: Any) -> Any:
    """The value with absolute paths cut to their last part: a pack is made to be published."""
    if isinstance(value, Mapping):
        return {without_folders(key): without_folders(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_folders(part) for part in value]
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as pack:
        for name in sorted(files):
            pack.writestr(zipfile.ZipInfo(name, DATE), files[name], zipfile.ZIP_DEFLATED)
    return out.getvalue()


def read_pack(path: str | Path) -> Pack:
    """The pack in a file, checked; nothing of it is written anywhere."""
    place = str(path)
    if not Path(path).is_file():
        raise UserError(f"{place}: no such pack; `unirex experiment pack STUDY {place}` makes one.")
    return _opened(Path(path), place)


def _opened(content: Path | io.BytesIO, place: str) -> Pack:
    try:
        with zipfile.ZipFile(content) as file:
            return _read(file, place)
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise UserError(f"{place}: not a pack of a study ({one_line(error)}).") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{place}: damaged, or no pack of a study ({one_line(error)}).") from error


def _read(file: zipfile.ZipFile, place: str) -> Pack:
    about = json.loads(_content(file, ABOUT, place))
    if about["format"] != FORMAT:
        raise UserError(f"{place}: format {about['format']!r}; this version reads {FORMAT}.")
    table = about["definition"]
    table["rows"] = {row.pop("name"): row for row in table["rows"]}
    definition = as_definition(table, str(table.pop("name")), place=place)
    given = about["made"]  # of older packs one table
    made = [
        {"versions": dict(part["versions"]), "git": part["git"]}
        for part in (given if isinstance(given, list) else [given])
    ]
    planned = [(str(name), int(seed), str(on), str(of)) for name, seed, on, of in about["planned"]]
    measurements = list(_measurements(file, about, definition, place))
    return Pack(place, definition, str(about["scale"]), made, planned, measurements)


def _measurements(
    file: zipfile.ZipFile, about: Mapping[str, Any], definition: Definition, place: str
) -> Iterator[Packed]:
    rows = {row.name: row for row in definition.rows}
    contents = {name: _checked(file, name, digest, place) for name, digest in about["sums"].items()}
    for entry in about["measurements"]:
        key = str(entry["cell"])
        trained = Cell("train", "", {"method": entry["method"], "config": dict(entry["config"])}, "")
        variant = Variant(rows[entry["row"]], dict(entry["point"]), str(entry["preset"]))
        content = {"options": dict(entry["options"]), "split": str(entry["split"])}
        cell = Cell("measure", variant.name, content, key)
        on, of = str(entry["trained_on"]), str(entry["measured_on"])
        saved = _metrics(contents[f"metrics/{key}.json"], f"{place}: {variant.name}")
        values = ValueTable.read(
            contents[entry["examples"]], contents[f"values/{key}.parquet"], place=f"{place}: {variant.name}"
        )
        measured = Measured(variant, int(entry["seed"]), on, of, (trained,), cell)
        yield Packed(measured, saved, values, f"{place}: {variant.name}, seed {entry['seed']}")


def _content(file: zipfile.ZipFile, name: str, place: str) -> bytes:
    """A file of the pack; one that is too large is refused before it is unpacked."""
    if file.getinfo(name).file_size > LARGEST:
        raise UserError(f"{place}: {name} has more than {LARGEST >> 20} MB; that is no measurement.")
    return file.read(name)


def _checked(file: zipfile.ZipFile, name: str, digest: str, place: str) -> bytes:
    content = _content(file, name, place)
    if hashlib.sha256(content).hexdigest() != digest:
        raise UserError(f"{place}: {name} is not as it was packed; pack the study again.")
    return content


def _metrics(content: bytes, place: str) -> dict[str, Any]:
    """A metrics.json; what reports take from it has the right kind."""
    saved = json.loads(content)
    tables = ("metrics", "intervals", "floor", "settings")
    if not all(isinstance(saved.get(name), dict) for name in tables) or not isinstance(saved["texts"], int):
        raise UserError(f"{place}: not the metrics of an evaluation.")
    numbers = [value for value in saved["metrics"].values() if value is not None]
    if not all(isinstance(value, int | float) for value in numbers):
        raise UserError(f"{place}: a metric is no number.")
    return saved
