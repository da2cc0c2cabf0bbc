"""Bytes that a corpus job reads and writes: predicted from the formats, compared, carried on to 10⁹ texts.

    PYTHONPATH=tests python benchmarks/io_bytes.py check [--rows 1024]   # predicted ÷ measured
    python benchmarks/io_bytes.py table                                  # 10⁶ … 10⁹ texts

A prediction is the size of one explanation, or record, of random numbers with the mean numbers of characters,
words and tokens. `check` runs the tiny encoder of `scale.py` in this process with one worker and compares
sizes of files, and what the system counted of its reads and writes (`/proc/self/io`, Linux). Networks are
assumed, not measured: see `NETWORK`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

NETWORK = 1.25e9  # bytes a second of one machine: 10 Gbit/s, an assumption
NODES = 64
BUDGETS = 5
RNG = random.Random(0)


@dataclass(frozen=True)
class Text:
    """The mean text of a corpus."""

    characters: float
    words: float
    tokens: float
    labels: int = 2

    def row(self) -> float:
        """Bytes of a line with an id of seven digits, a label of three letters and the text."""
        return len(json.dumps({"id": "1234567", "text": "", "label": "neg"})) + 1 + self.characters

    def explanation(self) -> float:
        """Bytes of an explanation as JSON."""
        from unirex.explanation import Explanation, Span, Word

        size = round(self.characters / self.words)
        word = Word(100, 100 + size, "", 0.0, False).to_dict()
        digits = sum(len(repr(RNG.gauss(0, 1))) - 3 for _ in range(1000)) / 1000  # more than of 0.0
        span = Span(100, 100 + size, "").to_dict()
        chances = {f"l{number:02}": RNG.random() for number in range(self.labels)}
        empty = Explanation(("",), "l00", chances, 20.0, (), (), (), id="1234567", gold_label="l00")
        each, runs = (
            len(json.dumps(word)) + 2 + digits,
            0.2 * 0.8 * self.words,
        )  # selected words after one that is not
        texts = self.characters * (1 + 2 + 0.2)  # itself, in words and tokens, and in the spans
        named = runs * (len(json.dumps(span)) + 2)
        return len(json.dumps(empty.to_dict())) + 1 + texts + (self.words + self.tokens) * each + named

    def record(self, *, views: int, draws: int) -> float:
        """Bytes of a record of an evaluation as JSON."""
        from unirex.evaluation.records import Draw, Record, Scored, Views, plain

        tokens = round(self.tokens)
        spans = tuple((0, 50, 55) for _ in range(tokens))
        shares = (0.01, 0.05, 0.1, 0.2, 0.5)
        chosen = tuple(tuple(range(max(1, round(tokens * share)))) for share in shares)
        scores = tuple(RNG.gauss(0, 1) for _ in range(tokens))
        rows = tuple(tuple(RNG.random() for _ in range(self.labels)) for _ in range(BUDGETS))
        seen, names = Views("attention_mask", rows, rows), tuple(f"l{n:02}" for n in range(self.labels))
        record = Record(
            "1234567",
            ("",),
            "l00",
            "l00",
            names,
            rows[0],
            (Scored(spans, scores, tuple(False for _ in spans), chosen, others=scores[:2]),),
            tuple(100 * share for share in shares),
            "l00",
            (seen,) * views,
            (Draw((scores,), (chosen,), seen),) * draws,
            seconds=RNG.random(),
            token_forwards=RNG.random(),
            trained_removal="attention_mask",
        )
        return len(json.dumps(plain(record))) + 1 + self.characters


def counted() -> dict[str, int]:
    """Bytes that this process has read and written so far."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return {name: int(value) for name, _, value in (line.partition(": ") for line in lines)}


def write_texts(path: Path, rows: int, words: int) -> None:
    from scale import WORDS

    rng = random.Random(words)
    with path.open("w") as file:
        for number in range(rows):
            text = " ".join(rng.choices(WORDS, k=rng.randint(words // 2, 3 * words // 2)))
            row = {"id": f"{number:07}", "text": text, "label": rng.choice(["neg", "pos"])}
            file.write(json.dumps(row) + "\n")


def compared(what: str, predicted: float, measured: float) -> None:
    print(f"| {what} | {predicted:,.0f} | {measured:,.0f} | {predicted / measured:.2f} |", flush=True)


def check(place: Path, rows: int) -> None:
    """Bytes a text, predicted and measured, for short texts and for longer ones."""
    import unirex
    from scale import save_system
    from unirex.data.formats.table import stream_records
    from unirex.scale.evaluating import evaluate_shards
    from unirex.scale.explaining import explain_corpus

    save_system(place / "system")
    system = unirex.load(place / "system")
    load = partial(_same, system)
    write_texts(place / "first.jsonl", 2, 4)  # imports read files, too
    explain_corpus(str(place / "first.jsonl"), str(place / "first"), load, shown=False)
    print("| bytes a text | predicted | measured | predicted ÷ measured |\n|---|---|---|---|")
    for words in (4, 16):
        file, name = place / f"{words}.jsonl", f"{words} words"
        write_texts(file, rows, words)
        examples = [record.example for record in stream_records(file)]
        mean = sum(len(example.segments[0]) for example in examples) / rows
        count = sum(len(example.segments[0].split()) for example in examples) / rows
        text = Text(mean, count, count)  # every word of the tiny tokenizer's list is one token
        size = file.stat().st_size / rows
        compared(f"{name}: a row of JSON Lines", text.row(), size)
        before = counted()
        made = explain_corpus(str(file), str(place / f"out-{words}"), load, shown=False)["bytes"] / rows
        after = counted()
        compared(f"{name}: an explanation, JSON Lines", text.explanation(), made)
        # The command reads the corpus to cut it, the worker to explain it and its draft for the digest.
        read, wrote = ((after[key] - before[key]) / rows for key in ("rchar", "wchar"))
        compared(f"{name}: explain, read", 2 * text.row() + text.explanation(), read)
        compared(f"{name}: explain, written", text.explanation(), wrote)
        parquet = explain_corpus(str(file), str(place / f"pq-{words}"), load, ending="parquet", shown=False)[
            "bytes"
        ]
        print(f"| {name}: an explanation, Parquet | – | {parquet / rows:,.0f} | – |", flush=True)
        some, out = examples[: rows // 4], place / f"evaluated-{words}"
        evaluate_shards(out, system, some, load, options={"draws": 1, "beside": []}, shard_rows=rows)
        sizes = {end: (out / f"records.{end}").stat().st_size / len(some) for end in ("jsonl", "parquet")}
        compared(f"{name}: a record, JSON Lines", text.record(views=1, draws=1), sizes["jsonl"])
        print(f"| {name}: a record, Parquet | – | {sizes['parquet']:,.0f} | – |", flush=True)
    cutting(place)


def _same(system: Any) -> Any:
    return system


def cutting(place: Path) -> None:
    """Bytes a processor second that one process cuts into shards and takes the digest of."""
    from unirex.scale.shards import find_shards

    file = place / "large.jsonl"
    write_texts(file, 200_000, 16)
    begin = time.process_time()
    find_shards(str(file))
    rate = file.stat().st_size / (time.process_time() - begin)
    print(f"cutting: {rate / 1e6:,.0f} MB a processor second, rows of 16 words")


CORPORA = {"SST": Text(103, 19, 26), "MultiRC": Text(1600, 290, 335)}  # about; tokens as in docs/scale.md


def table(rate: float) -> None:
    """Bytes of whole corpora, and the seconds that cutting and networks take for them."""
    print("| texts | corpus | explanations | read and written | cut by one process | one machine | 64 |")
    print("|" + "---|" * 7)
    for name, text in CORPORA.items():
        for texts in (10**6, 10**7, 10**8, 10**9):
            corpus, out = texts * text.row(), texts * text.explanation()
            traffic = 2 * corpus + out  # read twice, written once
            times = [corpus / rate, traffic / NETWORK, corpus / NETWORK + (corpus + out) / NETWORK / NODES]
            sizes = " | ".join(f"{part / 1e9:,.1f} GB" for part in (corpus, out, traffic))
            print(f"| {name}, 10^{len(str(texts)) - 1} | {sizes} | " + " | ".join(map(_human, times)) + " |")


def _human(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s"


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("check", "table"))
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--rate", type=float, default=200e6, help="bytes a second of cutting, from `check`")
    options = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    if options.what == "table":
        table(options.rate)
        return
    with tempfile.TemporaryDirectory() as folder:
        check(Path(folder), options.rows)


if __name__ == "__main__":
    main()
