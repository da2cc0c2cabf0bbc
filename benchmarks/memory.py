"""Memory while a dataset of e-SNLI's size is read and encoded: a synthetic folder in the same format.

    python benchmarks/memory.py [--pairs 549309]

The folder is written to a temporary place and removed. Each stage runs in a process of its own, which tells
its time and the largest memory it ever held: reading alone, encoding into the cache, and a second start.
Encoding must add little to reading, whatever the number of pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TEXT = "a man woman child dog is are playing walking in on the street park with red blue old young two"
WORDS = TEXT.split()
LABELS = ("entailment", "neutral", "contradiction")


def write_folder(folder: Path, pairs: int) -> None:
    """An ERASER folder of premises and hypotheses with a marked word or two in each."""
    rng = random.Random(0)
    sizes = {"train": pairs, "val": 1000, "test": 1000}
    with (folder / "docs.jsonl").open("w") as docs:
        for split, size in sizes.items():
            with (folder / f"{split}.jsonl").open("w") as rows:
                for number in range(size):
                    write_pair(f"{split}{number}", rng, docs, rows)


def write_pair(name, rng, docs, rows) -> None:
    evidence = []
    for side, length in (("premise", 14), ("hypothesis", 8)):
        words = [
            rng.choice(WORDS) + (str(rng.randrange(1000)) if rng.random() < 0.2 else "")
            for _ in range(length)
        ]
        docid, start = f"{name}_{side}", rng.randrange(length)
        docs.write(json.dumps({"docid": docid, "document": " ".join(words)}) + "\n")
        evidence.append(
            {"docid": docid, "start_token": start, "end_token": start + 1, "text": words[start]}
            | {"start_sentence": -1, "end_sentence": -1}
        )
    row = {"annotation_id": name, "query": "", "classification": rng.choice(LABELS), "evidences": [evidence]}
    rows.write(json.dumps(row | {"query_type": None, "docids": None}) + "\n")


def stage(what: str, root: str) -> dict[str, float]:
    """Run one stage here and tell its seconds and its peak memory in MB."""
    from encoding import encoder_for

    from unirex.data.load import load_dataset
    from unirex.encoding.packed import encode_all

    tokenizer_only = encoder_for(load_dataset("demo"), 128)
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    data = load_dataset("esnli", root=root)
    if what == "encode":
        encoder = encoder_for(data, 128)
        found = encode_all(encoder, data["train"], digest=data.digest and f"{data.digest} train")
        assert len(found) == len(data["train"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert tokenizer_only.max_length == 128
    return {"seconds": time.perf_counter() - begin, "before_mb": before / 1024, "peak_mb": peak / 1024}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=549_309)
    parser.add_argument("--stage")
    parser.add_argument("--root")
    options = parser.parse_args()
    if options.stage:
        print(json.dumps(stage(options.stage, options.root)))
        return
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "esnli").mkdir()
        write_folder(Path(root) / "esnli", options.pairs)
        env = {**os.environ, "UNIREX_CACHE": str(Path(root) / "cache")}
        for name, what in (
            ("read", "read"),
            ("encode (read from cache)", "encode"),
            ("second start", "encode"),
        ):
            command = [sys.executable, __file__, "--stage", what, "--root", root]
            out = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
            figures = json.loads(out.splitlines()[-1])
            print(name, {key: round(value, 1) for key, value in figures.items()}, flush=True)


if __name__ == "__main__":
    main()
