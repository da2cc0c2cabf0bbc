"""A large synthetic corpus explained with a tiny random encoder: memory, the manifest, what a worker adds.

    PYTHONPATH=tests python benchmarks/scale.py corpus --rows 1000000 [--workers 2] [--engine local]
    PYTHONPATH=tests python benchmarks/scale.py equal --rows 4096
    PYTHONPATH=tests python benchmarks/scale.py workers --rows 32768
    PYTHONPATH=tests python benchmarks/scale.py training --rows 1000000
    python benchmarks/scale.py manifest --shards 2000

`corpus` writes a file of short texts, explains it by the command line, watches the memory of its processes
and adds the manifest up. `equal` explains and evaluates the same file without shards, with one and with two
workers of both engines, and compares. `workers` explains the same file with one worker and with two, a
thread each, by turns. `training` takes a hundred steps with a hundredth, a tenth and all of the rows and
tells the memory.
`manifest` notes shards that nothing was done with: bytes and processor time of a shard.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

TEXT = "a film films the is not good bad people and plot dull watch know"
WORDS = TEXT.split()


def write_corpus(path: Path, rows: int, *, labels: Sequence[str] = ()) -> None:
    rng = random.Random(0)
    with path.open("w") as file:
        for number in range(rows):
            text = " ".join(rng.choices(WORDS, k=rng.randint(2, 5)))
            row = {"id": str(number), "text": text} | ({"label": rng.choice(labels)} if labels else {})
            file.write(json.dumps(row) + "\n")


def save_system(folder: Path) -> None:
    """One layer, 16 wide, with a second head that scores the words; nothing is trained."""
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    import tiny
    import unirex
    from unirex.system import System

    encoder = folder.parent / "encoder"
    tokens = tiny.tokenizer("wordpiece")
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(tokens), **size)).save_pretrained(encoder)
    tokens.save_pretrained(encoder)
    model = tiny.build_model(encoder, extractor="shared-lm", max_length=32)
    System(model, PreTrainedTokenizerFast.from_pretrained(encoder)).save_pretrained(folder)
    assert unirex.load(folder).labels == ("neg", "pos")


def processes_of(parent: int) -> list[int]:
    """A process and all below it."""
    found, below = [parent], {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        below.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    for process in found:
        found += below.get(process, [])
    return found


def memory(process: int) -> int:
    """Its resident memory in MB; 0 if it is gone."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
    except (OSError, IndexError):
        return 0


Sample = tuple[int, int, dict[int, int]]  # parts done, MB of the command, MB of every process below it


def explain(place: Path, out: Path, *options: str) -> tuple[float, list[Sample]]:
    """Seconds, and what was seen of the memory once a second."""
    command = [sys.executable, "-m", "unirex.cli", "explain", str(place / "system"), "--threads", "1"]
    command += ["--file", str(place / "corpus.jsonl"), "--out", str(out), *options]
    begin, samples = time.monotonic(), list[Sample]()
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            first, *others = processes_of(process.pid)
            done = len(list(out.glob("part-*")))
            samples.append((done, memory(first), {other: memory(other) for other in others}))
            time.sleep(1.0)
    assert process.returncode == 0
    return time.monotonic() - begin, samples


def check(out: Path, rows: int) -> dict:
    """The manifest's totals, once every part is as it says."""
    manifest = json.loads((out / "manifest.json").read_text())
    lines = 0
    for shard in manifest["shards"]:
        written = shard["files"][0]
        part = out / written["name"]
        with part.open("rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == written["sha256"]
        with part.open("rb") as file:
            count = sum(1 for _ in file)
        assert count == shard["rows"] and part.stat().st_size == shard["bytes"]
        lines += count
    assert lines == manifest["totals"]["rows"] == manifest["totals"]["texts"] == rows
    return manifest


def corpus(place: Path, options: argparse.Namespace) -> None:
    out = place / "out"
    wanted = ["--engine", options.engine, "--workers", str(options.workers)]
    if options.shard_rows:
        wanted += ["--shard_rows", str(options.shard_rows)]
    seconds, samples = explain(place, out, *wanted)
    manifest = check(out, options.rows)
    totals = manifest["totals"]
    print(
        f"{options.engine}, {options.workers} workers: {totals['rows']:,} rows of {options.rows:,}, "
        f"{totals['shards']} shards, {totals['bytes'] / 1e6:,.0f} MB; rows, bytes and checksums add up"
    )
    print(f"{seconds:.0f} s, {1e3 * totals['cpu_seconds'] / options.rows:.3f} CPU ms a row")
    processes = sorted({shard["process"] for shard in manifest["shards"]})
    print("parts done | the command | worker " + " | worker ".join(map(str, processes)) + " (peak MB so far)")
    for tenth in range(1, 11):
        seen = [sample for sample in samples if sample[0] <= tenth * totals["shards"] / 10]
        peaks = [max((below.get(one, 0) for _, _, below in seen), default=0) for one in processes]
        print(
            f"{10 * tenth} % | " + " | ".join(map(str, [max((s[1] for s in seen), default=0), *peaks])),
            flush=True,
        )


def equal(place: Path, options: argparse.Namespace) -> None:
    """Explain and evaluate without shards and by 1 and 2 workers of both engines; all must be the same."""
    crews = [(engine, number) for engine in ("local", "ray") for number in (1, 2)]
    write_corpus(place / "labelled.jsonl", options.rows, labels=("neg", "pos"))
    texts, data = place / "labelled.jsonl", ["--draws", "1", "--split", "all"]
    run(place, "explain", "--file", texts, "--out", place / "plain.jsonl")
    run(place, "evaluate", "--data", texts, "--out", place / "plain", *data)
    for engine, number in crews:
        crew = ["--engine", engine, "--workers", str(number), "--shard_rows", "1024"]
        out = place / f"{engine}-{number}"
        run(place, "explain", "--file", texts, "--out", out, *crew)
        parts = b"".join(part.read_bytes() for part in sorted(out.glob("part-*")))
        same = parts == (place / "plain.jsonl").read_bytes()
        run(place, "evaluate", "--data", texts, "--out", out / "evaluation", *data, *crew)
        records = measured(out / "evaluation") == measured(place / "plain")
        worst = difference(out / "evaluation", place / "plain")
        print(
            f"{engine}, {number} workers: explanations {'equal' if same else 'DIFFER'}, records "
            f"{'equal' if records else 'DIFFER'}, metrics differ by {worst:.1e} of their size at most",
            flush=True,
        )
        assert same and records and worst < 1e-12


def run(place: Path, command: str, *options: object) -> None:
    words = [sys.executable, "-m", "unirex.cli", command, place / "system", "--threads", "1", *options]
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def measured(folder: Path) -> list[dict]:
    """All records but for the time they took."""
    lines = (folder / "records.jsonl").read_text("utf-8").splitlines()
    return [{name: value for name, value in json.loads(line).items() if name != "seconds"} for line in lines]


def difference(folder: Path, other: Path) -> float:
    """The largest relative difference between two sets of metrics, but for the time."""
    found, expected = (
        json.loads((place / "metrics.json").read_text("utf-8"))["metrics"] for place in (folder, other)
    )
    assert found.keys() == expected.keys()
    pairs = [(found[name], expected[name]) for name in found if "seconds" not in name]
    return max(abs(a - b) / max(abs(b), 1e-12) for a, b in pairs if a is not None)


def workers(place: Path, options: argparse.Namespace) -> None:
    """Rows a second while shards run, of one worker and of two; processes start and load before."""
    for turn in range(options.turns):
        rates = {}
        for number in (1, 2):
            out = place / f"out-{turn}-{number}"
            explain(place, out, "--engine", options.engine, "--workers", str(number), "--shard_rows", "2048")
            shards = check(out, options.rows)["shards"]
            by_process: dict[int, float] = {}
            for shard in shards:
                by_process[shard["process"]] = by_process.get(shard["process"], 0.0) + shard["seconds"]
            rates[number] = options.rows / max(by_process.values())
            cpu = 1e3 * sum(shard["cpu_seconds"] for shard in shards) / options.rows
            print(f"{number} workers: {rates[number]:,.0f} rows/s, {cpu:.3f} CPU ms a row", flush=True)
        print(f"two workers are {rates[2] / rates[1]:.2f} of one", flush=True)


def training(place: Path, rows: int) -> None:
    """The peak memory of a hundred steps, by the number of texts there are to train on."""
    quiet = subprocess.DEVNULL
    for number in (rows // 100, rows // 10, rows):
        write_corpus(place / "train.jsonl", number, labels=("neg", "pos"))
        command = [sys.executable, "-m", "unirex.cli", "train", "--method", "vanilla", "--threads", "1"]
        command += ["--data", str(place / "train.jsonl"), "--encoder", str(place / "encoder")]
        command += ["--out", str(place / f"run-{number}"), "--max_length", "32", "--summary", "0"]
        command += ["--training.max_batches", "100", "--training.epochs", "1"]
        cache = {"UNIREX_CACHE": str(place / "cache")}
        process = subprocess.Popen(command, env=os.environ | cache, stdout=quiet, stderr=quiet)
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0
        print(f"{number:,} texts: peak {used.ru_maxrss >> 10} MB, {used.ru_utime:.0f} s of CPU", flush=True)


def manifest(place: Path, shards: int) -> None:
    """What the manifest costs: noting a shard, finding all of them done at a restart, completing it."""
    from unirex.scale.manifest import FILE, Manifest, note_finished
    from unirex.scale.places import Folder
    from unirex.scale.shards import SHARD_ROWS, Shard, Source

    source, folder = Source("corpus.jsonl", "/corpus.jsonl", 10**9, None, "0" * 64), Folder(str(place))
    all_shards = [Shard(n, f"{'0' * 64}:{n}", SHARD_ROWS, source, n * 10**6) for n in range(shards)]
    facts = {"texts": SHARD_ROWS, "rows": SHARD_ROWS, "bytes": 0, "skipped": 0}
    facts |= {"seconds": 10.123, "cpu_seconds": 6.123, "peak_memory_bytes": 4 * 10**8, "process": 12345}
    Manifest(folder, {}, [source]).open()
    begin = time.process_time()
    for shard in all_shards:
        (place / f"{shard.part}.jsonl").touch()
        file = {"name": f"{shard.part}.jsonl", "bytes": 0, "sha256": "0" * 64}
        note_finished(folder, shard, {"files": [file], **facts})
    noted, again = time.process_time(), Manifest(folder, {}, [source])
    again.open()
    assert all(map(again.finished, all_shards))
    found = time.process_time()
    again.complete(all_shards)
    times = {"note": noted - begin, "find": found - noted, "complete": time.process_time() - found}
    print({name: f"{1e3 * seconds / shards:.2f} CPU ms a shard" for name, seconds in times.items()})
    print(f"{(place / FILE).stat().st_size / shards:.0f} bytes a shard in the manifest")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("corpus", "equal", "workers", "training", "manifest"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--shard_rows", type=int)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--shards", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if options.what == "manifest":
            manifest(place, options.shards)
            return
        save_system(place / "system")
        if options.what == "training":
            training(place, options.rows)
            return
        if options.what == "equal":
            equal(place, options)
            return
        write_corpus(place / "corpus.jsonl", options.rows)
        (corpus if options.what == "corpus" else workers)(place, options)


if __name__ == "__main__":
    main()
