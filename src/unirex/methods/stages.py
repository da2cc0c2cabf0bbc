"""Stages of a method: trainings and scores that are made once and kept under the name of their content."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unirex.config import Config, Training, plain
from unirex.data.example import Example, Rationale, Splits
from unirex.data.fingerprint import fingerprint
from unirex.encoding.batch import Batch, Encoded
from unirex.errors import UserError, one_line
from unirex.explanation import Explanation
from unirex.files import Progress, load_state, save_state, write_file
from unirex.system import System, load
from unirex.training.run_folder import Run, versions
from unirex.training.train import Scores, train

MADE = ["1", versions()["unirex"]]  # one more whenever stages must be made anew
READ = ("config", "tokenizer", "special_tokens", "added_tokens", "vocab", "merges", "spiece", "sentencepiece")
COMMON = (  # what every stage of a run has in common
    "encoder",
    "pooling",
    "max_length",
    "truncation",
    "stride",
    "rationale_segments",
    "separators",
    "class_weights",
    "training",
    "seed",
)


@dataclass(frozen=True)
class Stages:
    """The stages of one run.

    Args:
        folder: of the run; its last stage is trained there.
        kept: where the stages before it are kept: one folder each, named after what went into it. Runs that
            share it share stages.
        method: of the run.
        resume: go on with the last stage.
        progress: show how it goes on.
        force: do everything anew.
    """

    folder: Path
    kept: Path
    method: str
    resume: bool = False
    progress: bool = True
    force: bool = False

    def train(self, name: str, data: Splits, config: Config) -> System:
        """The system of a stage: trained now, or loaded if the same was trained before."""
        from unirex.methods.building import build_system

        folder = self.kept / f"{name}-{content_key(name, *stage_content(data, config))}"
        if self.force:
            shutil.rmtree(folder, ignore_errors=True)
        run = Run(folder, name, config, data)
        with from_kept(folder):
            if run.finished:
                system = load(folder)
                self._say(f"stage {name}: trained before, loaded from {folder}")
                return system
        self._say(f"stage {name}: training in {folder}")
        system = build_system(name, data, config)
        run.open()
        train(
            system.model,
            system.text_encoder,
            data,
            config,
            folder=folder,
            resume=True,
            progress=self.progress,
        )
        system.save_pretrained(folder)
        run.close()
        return system

    def last(
        self, system: System, data: Splits, config: Config, given: Mapping[str, Scores] | None = None
    ) -> System:
        """Train the system the run is about, in the run's own folder."""
        if given is not None:
            self._say(f"last stage: training in {self.folder}")
        train(
            system.model,
            system.text_encoder,
            data,
            config,
            folder=self.folder,
            resume=self.resume,
            progress=self.progress,
            given=given,
        )
        return system

    def scores(self, name: str, system: System, examples: Sequence[Example]) -> Scores:
        """What a system thinks of every token: computed now, or read if it was computed before."""
        key = content_key(name, MADE, weights_digest(system), [repr(one) for one in examples])
        path = self.kept / f"{name}-{key}.safetensors"
        if path.is_file() and not self.force:
            with from_kept(path):
                kept = read_scores(path)
            self._say(f"stage {name}: scored before, read from {path}")
            return kept
        with Progress(f"scoring ({name})", total=len(examples), shown=self.progress) as progress:
            found = list(scored(system, examples, advance=progress.advance))
        write_scores(path, found)
        return found

    def marked(
        self, name: str, system: System, examples: Sequence[Example], *, budget: float, selector: str
    ) -> tuple[Example, ...]:
        """The examples with what a system goes by in the place of gold: found now, or read if known."""
        content = weights_digest(system), [budget, selector], [repr(one) for one in examples]
        key = content_key(name, MADE, *content)
        path = self.kept / f"{name}-{key}.json"
        if path.is_file() and not self.force:
            with from_kept(path):
                found = read_marks(path)
            self._say(f"stage {name}: marked before, read from {path}")
        else:
            with Progress(f"marking ({name})", total=len(examples), shown=self.progress) as progress:
                told = system.explain_all(
                    examples, budget=budget, selector=selector, advance=progress.advance
                )
                found = [
                    marks(one, len(example.segments)) for one, example in zip(told, examples, strict=True)
                ]
            write_file(path, json.dumps(found))
        return tuple(
            replace(one, rationale=rationale, groups=())
            for one, rationale in zip(examples, found, strict=True)
        )

    def _say(self, what: str) -> None:
        if self.progress:
            print(what, file=sys.stderr, flush=True)


@contextmanager
def from_kept(path: Path) -> Iterator[None]:
    """Reading what a stage left; if that is damaged, what to do about it is said."""
    try:
        yield
    except UserError as error:
        told = str(error).partition("; choose another --out")[0].rstrip(".")
        raise UserError(f"{told}. Delete {path}, or --force makes all stages anew.") from error


def stage_config(config: Config, *, gold: bool = False, **changes: Any) -> Config:
    """The settings of a stage: those all have in common, and its own. How much `gold` matters to some."""
    common = {name: getattr(config, name) for name in COMMON}
    return Config(**common | {"training": config.training if gold else without_gold(config)} | changes)


def without_gold(config: Config) -> Training:
    """How a stage is trained that learns nothing from people: it does not matter how much they marked."""
    usual = Training()
    return replace(
        config.training,
        gold_fraction=usual.gold_fraction,
        gold_factor=usual.gold_factor,
        gold_seed=usual.gold_seed,
    )


def stage_content(data: Splits, config: Config) -> list[Any]:
    """What the weights of a stage come from: not the test split, the hardware, or where an encoder lies."""
    usual = Training()
    same = {name: getattr(usual, name) for name in ("accelerator", "devices", "strategy")}
    settings = plain(replace(config, training=replace(config.training, **same)))
    learnt = Splits(data.info, {name: data[name] for name in ("train", "dev")})
    return [MADE, settings | {"encoder": encoder_digest(config.encoder)}, fingerprint(learnt)]


def content_key(*parts: Any) -> str:
    """A name for what goes into a stage, the same only for the same.

    >>> content_key("support", {"seed": 0}) == content_key("support", {"seed": 1})
    False
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def encoder_digest(name: str) -> str:
    """The content of an encoder in a folder, wherever that is; others are their name."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        return name
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix == ".safetensors" or path.name.startswith(READ):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def weights_digest(system: System) -> list[str]:
    """What a system's scores depend on: its settings and its weights, not where it was loaded from."""
    import torch

    settings = system.model.config.to_dict() | {"_name_or_path": ""}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for name, value in sorted(system.model.state_dict().items()):
        raw = value.detach().cpu().contiguous().view(-1).view(torch.uint8)  # NumPy knows no bfloat16
        digest.update(name.encode() + raw.numpy().tobytes())
    return [digest.hexdigest(), system.tokenizer.backend_tokenizer.to_str()]


def scored(system: System, examples: Sequence[Example], advance: Any = None) -> Iterator[Any]:
    """For every example one array of scores a sequence, as the system's own text encoder lays them out."""

    def answer(_: Sequence[Example], encoded: Sequence[Encoded], batch: Batch) -> Iterator[Any]:
        rows = iter(system.model.step(batch).scores.float().cpu().numpy())
        for one in encoded:
            yield [next(rows)[: len(tokens)].copy() for tokens in one.sequences]

    return system.stream(examples, answer, advance=advance)


def marks(explanation: Explanation, segments: int) -> Rationale:
    """The characters an explanation names in each of the segments, not in a choice."""
    named = [one for one in explanation.spans if one.segment < segments]
    return tuple(
        tuple((one.start, one.end) for one in named if one.segment == number) for number in range(segments)
    )


def read_marks(path: Path) -> list[Rationale]:
    """The marks that were kept in a file."""
    try:
        found = json.loads(path.read_text("utf-8"))
        return [tuple(tuple((start, end) for start, end in part) for part in one) for one in found]
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: damaged ({one_line(error)}).") from error


def write_scores(path: Path, scores: Scores) -> None:
    """All scores in one file."""
    import torch

    arrays = [array for one in scores for array in one]
    state = {
        "sequences": torch.tensor([len(one) for one in scores]),
        "sizes": torch.tensor([len(array) for array in arrays]),
        "values": torch.from_numpy(np.concatenate(arrays)) if arrays else torch.zeros(0),
    }
    save_state(path, state)


def read_scores(path: Path) -> Scores:
    """What `write_scores` wrote."""
    state = load_state(path)
    arrays: Iterator[NDArray[np.float32]] = iter(
        np.split(state["values"].numpy(), np.cumsum(state["sizes"].numpy())[:-1])
    )
    return [[next(arrays) for _ in range(count)] for count in state["sequences"].tolist()]


def check_devices(config: Config) -> None:
    """Stages are trained by one process."""
    if config.training.devices not in (1, "1"):
        raise UserError("this method trains in stages, on one device; set training.devices to 1.")
