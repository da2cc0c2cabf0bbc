"""Stages of a method: trainings and scores, made once and stored under a name derived from their inputs."""

from __future__ import annotations

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

from unirex.config import DEFAULT_PRESET, Config
from unirex.data.cache import json_digest
from unirex.data.example import Example, Rationale, Splits
from unirex.data.rationales import words
from unirex.encoding.batch import Batch, Encoded
from unirex.errors import UserError, one_line
from unirex.explanation import Explanation
from unirex.files import Advance, Progress, locked, new_folder, write_file
from unirex.methods.building import build_system
from unirex.methods.stage_keys import MADE, classifier_config, content_key, stage_content
from unirex.system import System, load
from unirex.training.checkpoints import load_state, save_state
from unirex.training.divergence import DivergedError
from unirex.training.processes import processes
from unirex.training.run_folder import Run
from unirex.training.train import Scores, train


@dataclass(frozen=True)
class Stages:
    """The stages of one run.

    Args:
        folder: of the run; its last stage is trained there.
        kept: where earlier stages are stored, each named after its inputs. Runs with the same folder share
            their stages.
        method: of the run.
        resume: continue the last stage.
        progress: show the progress.
        force: make everything again.
        preset: that the settings of the run come from; kept with it.
    """

    folder: Path
    kept: Path
    method: str
    resume: bool = False
    progress: bool = True
    force: bool = False
    preset: str = DEFAULT_PRESET

    def train(self, name: str, data: Splits, config: Config) -> System:
        """The system of a stage: loaded if it was trained before, else trained."""
        folder = self.place(name, data, config)
        if self.force:
            shutil.rmtree(folder, ignore_errors=True)
        run = Run(folder, name, config, data)
        found = self._trained(name, run)
        if found is not None:
            return found
        with new_folder(folder), locked(folder):
            found = self._trained(name, run)  # meanwhile, by another process
            if found is not None:
                return found
            self._report(f"stage {name}: training in {folder}")
            system = build_system(name, data, config)
            run.open()
            # Its folder is named after its inputs, so an interrupted stage can always be resumed.
            show = self.progress
            train(system.model, system.text_encoder, data, config, folder=folder, resume=True, progress=show)
            system.save_pretrained(folder)
            run.close()
        return system

    def _trained(self, name: str, run: Run) -> System | None:
        """The system of a stage if it was trained before."""
        with from_kept(run.folder):
            if not run.finished:
                return None
            system = load(run.folder)
        self._report(f"stage {name}: trained before, loaded from {run.folder}")
        return system

    def classifier(self, data: Splits, config: Config) -> System:
        """The plain classifier that several methods begin with, the same for all of them."""
        return self.train("classifier", data, classifier_config(config))

    def place(self, name: str, data: Splits, config: Config) -> Path:
        """The folder of a stage."""
        return self.kept / f"{name}-{content_key(name, *stage_content(data, config))}"

    def last(
        self, system: System, data: Splits, config: Config, given: Mapping[str, Scores] | None = None
    ) -> System:
        """Train the system the run is about, in the run's own folder."""
        if given is not None:
            self._report(f"last stage: training in {self.folder}")
        try:
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
        except DivergedError as error:
            if error.kept:
                system.save_pretrained(self.folder)  # with the weights of its best epoch
            raise
        return system

    def scores(self, name: str, system: System, examples: Sequence[Example]) -> Scores:
        """A system's scores of every token: read if they were computed before, else computed."""
        key = content_key(name, MADE, weights_digest(system), [repr(example) for example in examples])
        path = self.kept / f"{name}-{key}.safetensors"
        if path.is_file() and not self.force:
            with from_kept(path):
                scores = read_scores(path)
            self._report(f"stage {name}: scored before, read from {path}")
            return scores
        with Progress(f"scoring ({name})", total=len(examples), shown=self.progress) as progress:
            scores = list(scored(system, examples, advance=progress.advance))
        write_scores(path, scores)
        return scores

    def marked(
        self, name: str, system: System, examples: Sequence[Example], *, budget: float, selector: str
    ) -> tuple[Example, ...]:
        """The examples with a system's rationales as gold: read if extracted before, else extracted."""
        content = weights_digest(system), [budget, selector], [repr(example) for example in examples]
        key = content_key(name, MADE, *content)
        path = self.kept / f"{name}-{key}.json"
        if path.is_file() and not self.force:
            with from_kept(path):
                rationales = read_marks(path)
            self._report(f"stage {name}: marked before, read from {path}")
        else:
            with Progress(f"marking ({name})", total=len(examples), shown=self.progress) as progress:
                # The whole budget in blank-separated words, as evaluation counts them.
                rule = replace(system.rationale_rule(budget, selector), floor=False, words=words)
                explained = system.explain_by(rule, examples, advance=progress.advance)
                pairs = zip(explained, examples, strict=True)
                rationales = [marks(explanation, len(example.segments)) for explanation, example in pairs]
            write_file(path, json.dumps(rationales))
        return tuple(
            replace(example, rationale=rationale, groups=())
            for example, rationale in zip(examples, rationales, strict=True)
        )

    def _report(self, message: str) -> None:
        if self.progress:
            print(message, file=sys.stderr, flush=True)


@contextmanager
def from_kept(path: Path) -> Iterator[None]:
    """Read the files of a stage; an error about damaged ones is completed by what to do."""
    try:
        yield
    except UserError as error:
        message = str(error).partition("; choose another --out")[0].rstrip(".")
        raise UserError(f"{message}. Delete {path}, or --force makes all stages anew.") from error


def weights_digest(system: System) -> list[str]:
    """Everything a system's scores depend on: settings, weights and tokenizer, not its path."""
    import torch

    settings = system.model.config.to_dict() | {"_name_or_path": ""}
    digest = json_digest(settings, default=str)
    for name, value in sorted(system.model.state_dict().items()):
        raw = value.detach().cpu().contiguous().view(-1).view(torch.uint8)  # NumPy knows no bfloat16
        digest.update(name.encode() + raw.numpy().tobytes())
    return [digest.hexdigest(), system.tokenizer.backend_tokenizer.to_str()]


def scored(system: System, examples: Sequence[Example], advance: Advance | None = None) -> Iterator[Any]:
    """For every example one array of scores per sequence, for the tokens of the system's text encoder."""

    def answer(_: Sequence[Example], encoded: Sequence[Encoded], batch: Batch) -> Iterator[Any]:
        rows = iter(system.model.step(batch).scores.float().cpu().numpy())
        for item in encoded:
            yield [next(rows)[: len(tokens)].copy() for tokens in item.sequences]

    return system.stream(examples, answer, advance=advance)


def marks(explanation: Explanation, segments: int) -> Rationale:
    """The spans of an explanation as a rationale of these segments, without those in a choice."""
    return tuple(
        tuple((span.start, span.end) for span in explanation.spans if span.segment == number)
        for number in range(segments)
    )


def read_marks(path: Path) -> list[Rationale]:
    """The rationales in a file of a stage."""
    try:
        rationales = json.loads(path.read_text("utf-8"))
        return [
            tuple(tuple((start, end) for start, end in spans) for spans in rationale)
            for rationale in rationales
        ]
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: damaged ({one_line(error)}).") from error


def write_scores(path: Path, scores: Scores) -> None:
    """All scores in one file."""
    import torch

    arrays = [array for sequences in scores for array in sequences]
    state = {
        "sequences": torch.tensor([len(sequences) for sequences in scores]),
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
    """Refuse several devices: stages are trained by one process."""
    if processes(config.training).several:
        raise UserError("this method trains in stages, on one device; set training.devices to 1.")
