"""The cells of a study: trainings and measurements, pure functions of their settings, named by content."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unirex.config import PROBES, TARGETS, build_config, check_budgets, plain
from unirex.data.cache import fingerprint
from unirex.data.catalogue import DATASETS
from unirex.data.example import Example, Splits
from unirex.data.load import load_dataset
from unirex.errors import UserError, one_line, unknown
from unirex.files import HeldError, held, locked, new_folder, write_file
from unirex.models.encoders import ENCODERS
from unirex.removals import REMOVALS
from unirex.training.run_folder import made_with

if TYPE_CHECKING:
    from unirex.config import Config
    from unirex.system import System

TAUGHT_BY_CLASSIFIER = ("l2e", "fresh")  # methods whose first stage is the plain classifier
STAGED = (*TAUGHT_BY_CLASSIFIER, "fresh-p")
OF_SYSTEM = ("extractor", "extractor_options", "dial")  # options of a measurement that change who explains
MEASURING = (  # options of a measurement: `number` of texts, and those of `evaluate`
    *OF_SYSTEM,
    "number",
    "budgets",
    "removal",
    "beside",
    "draws",
    "probes",
    "target",
    "batch_size",
)
LISTS = ("budgets", "beside", "probes")
LEAST = {"number": 1, "draws": 0, "batch_size": 1}  # of those that are whole numbers
ABOUT, DONE, FAILED, LOG = "cell.json", "done.json", "failure.json", "log.txt"
DATASETS_KEPT = 8  # read datasets that a process keeps: `transfer` has six


@dataclass(frozen=True)
class Data:
    """A dataset and how it is read; as plain values, so that a cell can be sent anywhere.

    Args:
        source: a name, a file or a folder.
        options: keyword arguments of `load_dataset`.
        labels: labels of the data → labels of the system that stand for them.
    """

    source: str
    options: tuple[tuple[str, Any], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Data:
        """From the values that `asdict` gives, also after JSON."""
        return cls(table["source"], *(tuple(map(tuple, table[key])) for key in ("options", "labels")))

    @property
    def name(self) -> str:
        """For tables."""
        stem = Path(self.source).stem
        return stem if stem.strip(".") else Path(self.source).resolve().stem

    def seen_from(self, place: Path) -> Data:
        """The data that these words name in a working folder, by paths that are right in any."""
        options = dict(self.options)
        if isinstance(options.get("root"), str):
            options["root"] = path_from(place, options["root"])
        named = self.source in DATASETS and options.get("format", "auto") == "auto"
        source = self.source if named else path_from(place, self.source)
        return replace(self, source=source, options=tuple(options.items()))

    def load(self) -> Splits:
        """All splits, read once by a process."""
        whole = self.seen_from(Path.cwd())
        return _loaded(json.dumps([whole.source, dict(whole.options)]))

    def examples(self, split: str, number: int | None = None) -> Sequence[Example]:
        """Examples to measure on: all, or `number` of them at even distances."""
        found = self.load().get(split)
        if not found:
            raise UserError(f"{self.source}: has no split '{split}' to measure on.")
        if number is not None and number < len(found):
            step = len(found) / number  # the first ones of sorted data are no fair part
            found = tuple(found[int(index * step)] for index in range(number))
        names, known = dict(self.labels), list(map(str, self.load().info.labels))
        for name in names:
            if name not in known:
                raise UserError(f"{self.source}: {unknown('label', name, known)}")
        return [replace(example, label=names.get(str(example.label), example.label)) for example in found]

    def fingerprint(self, *splits: str) -> str:
        """A digest of the examples in these splits."""
        whole = self.seen_from(Path.cwd())
        return _fingerprint(json.dumps([whole.source, dict(whole.options)]), splits)


def path_from(place: Path, name: str) -> str:
    """The path of a file or folder that a word names in a working folder; other names as they are."""
    path = place / Path(name).expanduser()
    return str(path) if path.exists() else name


def encoder_from(place: Path, name: str) -> str:
    """The path of an encoder that a word names in a working folder; `minilm` and Hub ids as they are."""
    return name if name in ENCODERS else path_from(place, name)


@lru_cache(maxsize=DATASETS_KEPT)
def _loaded(described: str) -> Splits:
    source, options = json.loads(described)
    return load_dataset(source, **options)


@lru_cache(maxsize=4 * DATASETS_KEPT)
def _fingerprint(described: str, splits: tuple[str, ...]) -> str:
    data = _loaded(described)
    return fingerprint(Splits(data.info, {name: data.get(name, ()) for name in splits}))


@dataclass(frozen=True)
class Needs:
    """What a cell needs of a machine; the defaults are of cells whose encoder is not known here."""

    cores: int = 1
    memory: int = 4 << 30  # bytes; MiniLM trains in 2.5 GB; `needs.py` predicts it
    gpus: int = 0


@dataclass(frozen=True)
class Cell:
    """One training or one measurement.

    Args:
        work: what it does.
        name: for people.
        content: everything that its result depends on, as plain values.
        key: digest of the content.
        after: keys of the cells whose results it uses.
        needs: what it needs of a machine.
    """

    work: Literal["train", "measure"]
    name: str
    content: Mapping[str, Any]
    key: str
    after: tuple[str, ...] = ()
    needs: Needs = Needs()

    def folder(self, store: Path) -> Path:
        """Its place among all cells."""
        return store / f"{self.work}-{self.key}"

    def state(self, store: Path) -> str:
        """`done`, `failed`, `running` or `waiting`."""
        folder = self.folder(store)
        if (folder / DONE).exists():
            return "done"
        if held(folder):
            return "running"
        return "failed" if (folder / FAILED).exists() else "waiting"

    def result(self, store: Path) -> dict[str, Any]:
        """What a finished cell left: seconds, the folder of its run or its evaluation, and `made_with`.

        The seconds of a training are those of all its parts, if it was killed or failed, and went on; to
        wait for a stage that another cell makes is none of them.
        """
        return json.loads((self.folder(store) / DONE).read_text("utf-8"))

    def failure(self, store: Path) -> str:
        """The last line of a failure."""
        try:
            return json.loads((self.folder(store) / FAILED).read_text("utf-8"))["error"]
        except FileNotFoundError:
            return "it is run again just now"


def train_cell(method: str, config: Config, data: Data, *, name: str) -> Cell:
    """The training of a method with these settings."""
    from unirex.methods.stage_keys import MADE, content_key, stage_settings

    config = trained_config(method, config)
    after = (train_cell("vanilla", config, data, name="").key,) if method in TAUGHT_BY_CLASSIFIER else ()
    key = content_key(MADE, method, stage_settings(config), data.fingerprint("train", "dev"))
    here = Path.cwd()  # the cell may be run elsewhere
    whole = replace(config, encoder=encoder_from(here, config.encoder))
    content = {"method": method, "config": plain(whole), "data": asdict(data.seen_from(here))}
    return Cell("train", name, content, f"{method}-{key}", after)


def trained_config(method: str, config: Config) -> Config:
    """The settings that matter to a training: for a plain classifier those that others share."""
    from unirex.methods.stage_keys import classifier_config

    return classifier_config(config) if method == "vanilla" else config


def measure_cell(trained: Cell, data: Data, options: Mapping[str, Any], *, split: str, name: str) -> Cell:
    """The measurement of what a training gives, on a split of a dataset."""
    from unirex.methods.stage_keys import MADE, content_key

    check_measuring(options)
    _check_explainer(options, trained)
    if not data.load().get(split):
        raise UserError(f"{data.source}: has no split '{split}' to measure on.")
    method, folder = trained.content["method"], trained.folder(Path()).name
    content = {"method": method, "trained": folder, "split": split, "options": dict(options)}
    key = content_key(MADE, content, data.labels, data.fingerprint(split))
    content["data"] = asdict(data.seen_from(Path.cwd()))
    return Cell("measure", name, content, f"{method}-{key}", (trained.key,))


def check_measuring(options: Mapping[str, Any]) -> None:
    """Refuse options of a measurement that it could not take, before anything is trained."""
    from unirex.extractors import EXTRACTORS, check_dial, extractor_name

    for option in options:
        if option not in MEASURING:
            raise unknown("option of measure", option, MEASURING)
    for option, least in LEAST.items():
        value = options.get(option)
        if value is not None and (type(value) is not int or value < least):
            raise UserError(f"measure: {option} {value}: give a whole number, at least {least}.")
    for option in LISTS:
        if not isinstance(options.get(option, ()), list | tuple):
            raise UserError(f"measure: {option} {options[option]}: give a list, such as [a, b].")
    if not isinstance(options.get("extractor_options", {}), Mapping):
        raise UserError(f"measure: extractor_options {options['extractor_options']}: give names with values.")
    extractor = options.get("extractor")
    if extractor is not None and extractor_name(str(extractor)) not in EXTRACTORS:
        raise unknown("extractor", extractor, EXTRACTORS)
    for kind, known in {"removal": REMOVALS, "beside": REMOVALS, "probes": PROBES, "target": TARGETS}.items():
        given = options.get(kind)
        names = [] if given is None else given if kind in LISTS else [given]
        for name in names:
            if not isinstance(name, str) or name not in known:
                raise unknown(f"value of {kind}", name, known)
    if options.get("dial") is not None:
        check_dial(options["dial"])
    if "budgets" in options:
        check_budgets(options["budgets"])


def _check_explainer(options: Mapping[str, Any], trained: Cell) -> None:
    """Refuse another explainer than the system can have, and options that would do nothing."""
    config, method = trained.content["config"], trained.content["method"]
    extractor, dial = options.get("extractor"), options.get("dial")
    if options.get("extractor_options") and not extractor:
        raise UserError("measure: extractor_options are for an extractor; name it: measure.extractor.")
    if extractor and config["predict_from"] == "rationale":
        raise UserError(f"measure: extractor {extractor}: {method} predicts from its own rationale.")
    if dial is not None and extractor:
        raise UserError("measure: the dial is for the system's own scores; leave out the extractor.")
    if dial is not None and not config["extractor_options"].get("order"):
        raise UserError(
            f"measure: dial {dial}: {method} has one score a token; slm-fpo and dlm-fpo have two."
        )


def run_cell(cell: Cell, store: Path) -> None:
    """Do the work of a cell, unless it is done; a failure is kept in its folder and raised.

    The cell's folder is held meanwhile: if another process works there, this is a `HeldError`.
    """
    folder = cell.folder(store)
    with new_folder(folder), locked(folder):
        if (folder / DONE).exists():
            return
        (folder / FAILED).unlink(missing_ok=True)
        before, waited = (
            _before(folder) if cell.work == "train" else (0.0, False)
        )  # a measurement begins anew
        _begin(folder, cell, before, waits=waited)
        begin, made = time.monotonic(), made_with()  # the code that runs, whatever is checked out meanwhile
        with _logged_to(folder / LOG):
            try:
                place = WORK[cell.work](cell, store)
            except HeldError:  # of a stage that another cell makes: later
                worked = 0.0 if waited else time.monotonic() - begin  # what follows the first try is waiting
                _begin(folder, cell, before + worked, waits=True)
                raise
            except Exception as error:
                traceback.print_exc()
                keep_failure(folder, error)
                raise
        seconds = round(before + time.monotonic() - begin, 1)
        done = {"seconds": seconds, "place": place.relative_to(store).as_posix()}
        write_file(folder / DONE, json.dumps(done | made) + "\n")


@contextmanager
def _logged_to(path: Path) -> Iterator[None]:
    """What is printed is appended to a log, line by line: whoever kills the process can read it all."""
    with path.open("a", encoding="utf-8", buffering=1) as log, redirect_stdout(log), redirect_stderr(log):
        yield


def _begin(folder: Path, cell: Cell, before: float, *, waits: bool) -> None:
    """Keep what a cell is, and that it begins now, after seconds of work in earlier tries."""
    about = {**asdict(cell), "begun": time.time(), "seconds_before": before, "waits": waits}
    write_file(folder / ABOUT, json.dumps(about, indent=1) + "\n")


def _before(folder: Path) -> tuple[float, bool]:
    """The seconds of a training that was killed or failed, as far as its log shows; whether it has waited."""
    try:
        before = json.loads((folder / ABOUT).read_text("utf-8"))
        ended = (folder / LOG).stat().st_mtime
        seconds = float(before["seconds_before"]) + max(0.0, ended - float(before["begun"]))
        return seconds, bool(before.get("waits"))
    except (OSError, ValueError, KeyError, TypeError):  # it was never begun
        return 0.0, False


def keep_failure(folder: Path, error: Exception) -> None:
    """Write into the folder of a cell why it could not be done."""
    folder.mkdir(parents=True, exist_ok=True)
    kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
    write_file(folder / FAILED, json.dumps({"error": kind + one_line(error)}) + "\n")


def _train(cell: Cell, store: Path) -> Path:
    """Train, or go on with a training that was interrupted; the folder of the run."""
    from unirex.methods import fit
    from unirex.methods.stage_keys import classifier_config
    from unirex.methods.stages import Stages

    content, run, kept = cell.content, cell.folder(store) / "run", store / "stages"
    data, method = Data.read(content["data"]).load(), content["method"]
    if method == "vanilla":  # in the place of the stage, where l2e and fresh find it
        config, stages = build_config(content["config"]), Stages(run, kept, method)
        stages.classifier(data, config)
        return stages.place("classifier", data, classifier_config(config))
    stages_kept = kept if method in STAGED else None
    fit(method, data, out=run, resume=True, config=content["config"], stages=stages_kept)
    return run


def _measure(cell: Cell, store: Path) -> Path:
    """Evaluate a trained system; the folder of the records."""
    from unirex.config import read_settings
    from unirex.evaluation.run import evaluate_to
    from unirex.system import load

    content, folder = cell.content, cell.folder(store) / "evaluation"
    trained = json.loads((store / content["trained"] / DONE).read_text("utf-8"))
    run, data = store / trained["place"], Data.read(content["data"])
    options = {key: value for key, value in content["options"].items() if key not in OF_SYSTEM}
    number = options.pop("number", None)
    evaluate_to(
        folder,
        _explained(load(run), content["options"]),
        data.examples(content["split"], number),
        formats=("parquet",),
        about={
            "data": {"name": data.name, "split": content["split"], "number": number},
            "run": {**read_settings(run / "settings.yaml"), "method": content["method"]},
        },
        **options,
    )
    return folder


def _explained(system: System, options: Mapping[str, Any]) -> System:
    """The system with the extractor or the dial of the measurement."""
    if options.get("dial") is not None:
        return system.with_dial(options["dial"])
    if options.get("extractor"):
        return system.with_extractor(options["extractor"], **options.get("extractor_options", {}))
    return system


WORK = {"train": _train, "measure": _measure}
