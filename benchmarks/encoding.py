"""Reading and encoding a dataset against the bare tokenizer on the same texts, and again from the cache.

    UNIREX_DATA=data python benchmarks/encoding.py [--set multirc] [--repeat 3]

Each measurement is a process of its own, so that nothing is warm but the disk; medians are compared.
"Bare" is one call of the fast tokenizer on all examples, with offsets: what anybody would have to run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from unirex.data.example import Layout
from unirex.data.load import load_dataset


def encoder_for(data, length: int):
    from unirex.encoding.encode import TextEncoder
    from unirex.models.encoders import load_pretrained

    tokenizer = load_pretrained("minilm", kind="tokenizer")
    return TextEncoder(tokenizer, length, data.info.labels, truncation="windows", layout=Layout.of(data))


def bare(name: str) -> float:
    """Seconds of the tokenizer call alone."""
    data = load_dataset(name)
    tokenizer = encoder_for(data, 512).tokenizer
    examples = list(data["train"])
    columns = [list(column) for column in zip(*(one.segments for one in examples), strict=True)]
    begin = time.perf_counter()
    tokenizer(*columns, return_offsets_mapping=True, verbose=False)
    return time.perf_counter() - begin


def ours(name: str) -> float:
    """Seconds from the files on disk to encoded training examples."""
    from unirex.encoding import packed as encodings

    tokenizer = encoder_for(load_dataset("demo"), 512).tokenizer  # loading it is not measured
    begin = time.perf_counter()
    data = load_dataset(name)
    encoder = encoder_for(data, 512)
    object.__setattr__(encoder, "tokenizer", tokenizer)
    found = encodings.encode_all(encoder, data["train"], digest=data.digest and f"{data.digest} train")
    found.lengths.sum()
    found[len(found) // 2]
    return time.perf_counter() - begin


def measured(what: str, name: str, cache: str) -> float:
    """One measurement in a process of its own."""
    command = [sys.executable, __file__, "--set", name, "--only", what]
    out = subprocess.run(
        command, env={**os.environ, "UNIREX_CACHE": cache}, capture_output=True, text=True, check=True
    )
    return float(out.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", default="multirc")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=("bare", "ours"))
    options = parser.parse_args()
    if options.only:
        print({"bare": bare, "ours": ours}[options.only](options.set))
        return
    seconds: dict[str, list[float]] = {"bare": [], "uncached": [], "first": [], "second": []}
    for _ in range(options.repeat):
        with tempfile.TemporaryDirectory() as cache:
            seconds["bare"].append(measured("bare", options.set, "off"))
            seconds["uncached"].append(measured("ours", options.set, "off"))
            seconds["first"].append(measured("ours", options.set, cache))
            seconds["second"].append(measured("ours", options.set, cache))
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    print(json.dumps({"set": options.set, "seconds": seconds}, indent=2))
    for name in ("uncached", "first"):
        print(f"reading + encoding, {name} ÷ bare tokenizer: {middle[name] / middle['bare']:.2f}")
    print(f"second start ÷ first start: {middle['second'] / middle['first']:.3f}")


if __name__ == "__main__":
    main()
