"""Training again with what people marked: old data and new gold, measured on held-out gold."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from unirex.annotate.answers import read_answers, split_by_majority
from unirex.annotate.definition import HOLD_OUT
from unirex.annotate.project import Project
from unirex.comparison import compare
from unirex.comparison.comparison import Comparison
from unirex.config import read_settings
from unirex.data.check import content_key
from unirex.data.convert import text_columns, write_jsonl
from unirex.data.example import DatasetInfo, Example, Splits
from unirex.data.load import load_dataset
from unirex.data.split import stratified_split
from unirex.data.validate import labels_of
from unirex.errors import UserError, one_line
from unirex.files import locked, replace_file, say, write_file

JOB, DATA, LOG = "job.json", "data.jsonl", "log.txt"
BEFORE, AFTER = "before", "after"
SHOWN_LINES = 3  # of the log, where the training failed


@dataclass(frozen=True, slots=True)
class Plan:
    """The data to train again on; its split `test` is the held-out gold."""

    data: Splits
    gold: int  # annotated texts
    replaced: int  # texts of the old data whose label and marks are the new ones now
    seen: bool  # the run was trained on texts of the held-out gold, as there was no other gold


def plan(old: Splits, gold: Sequence[Example], *, hold_out: float = HOLD_OUT, seed: int = 0) -> Plan:
    """Old data and new gold put together; some gold that the run was not trained on is held out.

    A text that both have stays in its split with the new label and marks; other gold joins train.
    Held-out texts are in neither train nor dev. The old test split is left out.
    """
    if not 0 < hold_out < 1:
        raise UserError(f"hold_out {hold_out:g}: give a share between 0 and 1.")
    _check_labels(old, gold)
    known = {content_key(example): split for split in ("dev", "train") for example in old.get(split, ())}
    gold = list({content_key(example): example for example in gold}.values())  # of repeated texts the last
    unseen = [example for example in gold if content_key(example) not in known]
    held = _drawn(unseen or gold, hold_out, seed)
    kept = {content_key(example): example for example in gold if example.id not in {one.id for one in held}}
    away = {content_key(example) for example in held}
    parts: dict[str, list[Example]] = {}
    for split in ("train", "dev"):
        used = [example for example in old.get(split, ()) if content_key(example) not in away]
        parts[split] = [_renewed(example, kept.get(content_key(example))) for example in used]
    new = [example for key, example in kept.items() if key not in known]
    parts["train"] += _named_apart(new, parts["train"])
    parts["test"] = held
    replaced = sum(key in known for key in kept)
    info = replace(old.info, name="annotated", groups="annotators")
    return Plan(Splits(info, parts), len(gold), replaced, seen=not unseen)


def _check_labels(old: Splits, gold: Sequence[Example]) -> None:
    if not gold:
        raise UserError("no text is annotated yet, or all labels are tied; there is nothing to train on.")
    if old.info.task == "choice":
        return
    known = {(type(label), label) for label in old.info.labels}
    for example in gold:
        for label in labels_of(example):
            if (type(label), label) not in known:
                raise UserError(
                    f"text '{example.id}' is annotated as {label!r}, which the data of the run does not have "
                    f"({', '.join(map(repr, old.info.labels))}); train on the exported file instead."
                )


def _drawn(gold: Sequence[Example], share: float, seed: int) -> list[Example]:
    """The held-out gold, of every label its share."""
    try:
        return stratified_split(gold, dev=0, test=share, seed=seed)["test"]
    except UserError as error:
        raise UserError(f"too little gold to hold some out ({len(gold)} texts): {error}") from error


def _renewed(example: Example, gold: Example | None) -> Example:
    """A text of the old data, with the label and marks of the gold if it has some."""
    return example if gold is None else replace(gold, id=example.id)


def _named_apart(new: Sequence[Example], others: Sequence[Example]) -> list[Example]:
    """The texts with ids that no other text has."""
    taken = {example.id for example in others}
    found = []
    for example in new:
        name = example.id
        while name in taken:
            name += "-annotated"
        taken.add(name)
        found.append(replace(example, id=name))
    return found


def settled_gold(project: Project, annotators: str = "union") -> list[Example]:
    """What people's answers come to, without texts whose labels are tied."""
    clear, _ = split_by_majority(read_answers(project), annotators)
    return [example for _, example in clear]


def retrain(
    project: Project,
    run: str | Path,
    out: str | Path,
    *,
    old: Callable[[], Splits],
    hold_out: float = HOLD_OUT,
    seed: int = 0,
    annotators: str = "union",
) -> Comparison:
    """Train the method of a run again with its settings, on its data and the new gold; compare the two.

    The work is done in the folder `OUT-retrain`: the data, the log, the evaluations. Called again after a
    stop, it goes on with the data as it was put together first.

    Args:
        project: the annotation.
        run: folder of the system that was trained before.
        out: folder of the new one.
        old: reads the data that `run` was trained on.
        hold_out: share of the gold that both systems are measured on.
        seed: of the choice of that gold.
        annotators: how the marks of several people are combined.
    """
    run, out = Path(run), Path(out)
    if not (run / "settings.yaml").is_file():
        raise UserError(f"{run}: no settings.yaml in it; only a run of `unirex train` can be trained again.")
    folder = out.with_name(f"{out.name}-retrain")
    if out.exists() and not folder.exists():
        raise UserError(f"{out} exists already; choose another --out.")
    folder.mkdir(parents=True, exist_ok=True)
    choices = {"run": str(run), "hold_out": hold_out, "seed": seed, "annotators": annotators}
    with locked(folder):
        job = _job(folder, choices)
        if job is None:
            made = plan(old(), settled_gold(project, annotators), hold_out=hold_out, seed=seed)
            job = _write_job(folder, made, choices, project.definition.names)
        for line in job["notes"]:
            say(f"note: {line}")
        _train(folder, out)
        held_out = _splits(folder)["test"]
        _evaluate(folder / BEFORE, run, held_out)
        _evaluate(folder / AFTER, out, held_out)
    return compare({BEFORE: folder / BEFORE, AFTER: folder / AFTER})


def _job(folder: Path, choices: Mapping[str, Any]) -> dict[str, Any] | None:
    """The job that was begun in a folder; refused if it was begun otherwise."""
    path = folder / JOB
    if not path.is_file():
        return None
    try:
        job: dict[str, Any] = json.loads(path.read_text("utf-8"))
        begun = {name: job["choices"][name] for name in choices}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged ({one_line(error)}); choose another --out.") from error
    for name, value in choices.items():
        if begun[name] != value:
            raise UserError(
                f"{folder} was begun with {name} {begun[name]}, not {value}; choose another --out."
            )
    say(f"going on with the data of {folder}, as it was put together first")
    return job


def _write_job(folder: Path, made: Plan, choices: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Write the data, then the job, which says that the data is complete."""
    data = made.data
    columns = text_columns(data, names)
    replace_file(folder / DATA, lambda draft: write_jsonl(draft, data, columns))
    sizes = {split: len(part) for split, part in data.items()}
    notes = [
        f"{made.gold} annotated texts; {sizes['test']} held out (seed {choices['seed']}), "
        f"{made.replaced} replace labels and marks of the old data, the others join train "
        f"(train {sizes['train']}, dev {sizes['dev']})."
    ]
    if made.seen:
        notes.append(
            "the run was trained on the held-out texts, as there is no other gold: 'before' is flattered."
        )
    method = read_settings(Path(choices["run"], "settings.yaml")).get("method")
    job = {
        "choices": dict(choices),
        "method": method,
        "info": asdict(data.info),
        "columns": list(columns),
        "notes": notes,
    }
    write_file(folder / JOB, json.dumps(job, ensure_ascii=False, indent=1) + "\n")
    return job


def _splits(folder: Path) -> Splits:
    """The data of a job, with the properties of the old data that a table cannot say."""
    job = json.loads((folder / JOB).read_text("utf-8"))
    columns = {"text": ",".join(job["columns"])} if len(job["columns"]) > 1 else {}
    data = load_dataset(str(folder / DATA), columns=columns)
    info: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in job["info"].items()
    }
    return replace(data, info=DatasetInfo(**info), digest=None)


def _train(folder: Path, out: Path) -> None:
    """Train in a process of its own, whose output goes to the log; a finished run is left as it is."""
    log = folder / LOG
    if _finished(out):
        return
    say(f"training {out} … (log: {log})")
    command = [sys.executable, "-m", __name__, str(folder), str(out)]
    with log.open("ab") as file:
        code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    if code:
        lines = log.read_text("utf-8", errors="replace").strip().splitlines()[-SHOWN_LINES:]
        raise UserError(f"the training ended with code {code}; {log} ends: {' | '.join(lines)}")


def _finished(out: Path) -> bool:
    """Whether the run is trained; what is damaged is left for the training to report."""
    try:
        return bool(json.loads((out / "run.json").read_text("utf-8"))["finished"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _evaluate(target: Path, place: Path, examples: Sequence[Example]) -> None:
    if (target / "metrics.json").is_file():
        return
    from unirex.evaluation.run import evaluate_to
    from unirex.system import load

    say(f"evaluating {place} on {len(examples)} held-out texts …")
    evaluate_to(target, load(place), examples)


def main(arguments: Sequence[str]) -> int:
    """The training of a job: its folder, and where the run goes."""
    from unirex.methods import fit

    folder, out = map(Path, arguments)
    job = json.loads((folder / JOB).read_text("utf-8"))
    settings = Path(job["choices"]["run"], "settings.yaml")
    try:
        fit(job["method"], _splits(folder), out=out, resume=True, config=settings)
    except UserError as error:
        print(f"unirex: error: {one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
