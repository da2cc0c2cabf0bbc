"""What serving costs: ratios in one run, server and clients on this machine's loopback.

    python benchmarks/serving.py [--run runs/slm] [--large] [--requests 2000] [--seconds 10]

Throughput of short texts from 32 clients beside offline `explain`; the 99th percentile of latencies at half
the capacity beside their median; what is answered at twice the capacity; one sentence with all budgets and
their faithfulness, as the explorer asks; the server's memory over all requests.

Without --run the system is MiniLM with untrained heads, which takes as long as a trained one; with --large an
untrained encoder of the size of BERT-base.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

CLIENTS = 32
WAITING = 64  # texts that may wait: the queue must fill within seconds
IDLE = 2  # seconds
EXPLORED = 40  # sentences that one client asks for
OPEN_LOOP = 160  # threads that send at twice the capacity: more than may wait and run


def system(run: str | None) -> Any:
    import unirex

    if run is not None:
        return unirex.load(run)
    return untrained("minilm")


def untrained(encoder: str) -> Any:
    import torch

    from unirex.config import Config
    from unirex.modeling import RationaleModel
    from unirex.models.encoders import load_pretrained
    from unirex.system import System

    torch.manual_seed(0)
    config = Config(encoder=encoder, extractor="shared-lm", pooling="mean")
    model = RationaleModel.from_encoder(config, ("neg", "pos"))
    return System(model.eval(), load_pretrained(encoder, kind="tokenizer"))


def save_large(folder: Path) -> str:
    """A system with 12 layers, 768 wide, as BERT-base has, and MiniLM's tokens."""
    from transformers import BertConfig, BertModel

    from unirex.models.encoders import load_pretrained

    tokens = load_pretrained("minilm", kind="tokenizer")
    BertModel(BertConfig(vocab_size=len(tokens))).save_pretrained(folder / "encoder")
    tokens.save_pretrained(folder / "encoder")
    untrained(str(folder / "encoder")).save_pretrained(folder / "system")
    return str(folder / "system")


def serve(run: str | None, threads: int, pipe: Any) -> None:
    """A server in a process of its own; its port goes into the pipe, which ends it, too."""
    import torch
    import uvicorn

    from unirex.serve import create_app
    from unirex.serve.settings import Limits, Settings

    torch.set_num_threads(threads)
    app = create_app({"system": system(run)}, Settings(limits=Limits(waiting=WAITING)))
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", access_log=False)
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    pipe.send(server.servers[0].sockets[0].getsockname()[1])
    pipe.recv()
    server.should_exit = True
    thread.join()


def texts() -> Iterator[str]:
    import unirex

    examples = unirex.load_dataset("demo")["test"]
    return cycle([example.segments[0] for example in examples])


def load(
    port: int, count: int, clients: int, *, rate: float | None = None
) -> tuple[Counter[int], list[float], float]:
    """Statuses, latencies and seconds of `count` requests; with `rate`, as many begin in a second."""
    work = enumerate(islice(texts(), count))
    lock, statuses, latencies = threading.Lock(), Counter[int](), []
    begin = time.perf_counter() + 0.1

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        while True:
            with lock:
                number, text = next(work, (None, ""))
            if number is None:
                connection.close()
                return
            due = begin + (number / rate if rate else 0)
            if (idle := due - time.perf_counter()) > 0:
                time.sleep(idle)
            if idle > IDLE:
                connection.close()  # it is opened anew: servers close connections that are not used
            sent = due if rate else time.perf_counter()
            status = post(connection, text)
            with lock:
                statuses[status] += 1
                latencies.append(time.perf_counter() - sent)

    run_threads(client, clients)
    return statuses, latencies, time.perf_counter() - begin


def run_threads(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def post(connection: http.client.HTTPConnection, text: str, **asked: Any) -> int:
    body = json.dumps({"inputs": text, "truncate": True, **asked})
    connection.request("POST", "/explain", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read()
    return response.status


def alone(port: int, process: int, count: int, **asked: Any) -> tuple[float, float]:
    """Milliseconds from request to answer, and of processor time, of one client's requests: medians."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    seconds, busy = [], []
    for text in islice(texts(), count):
        begin, before = time.perf_counter(), processor(process)
        post(connection, text, **asked)
        seconds.append(time.perf_counter() - begin)
        busy.append(processor(process) - before)
    connection.close()
    return 1000 * statistics.median(seconds), 1000 * statistics.median(busy)


def processor(process: int) -> float:
    """Seconds of processor time that a process has used."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:  # noqa: PTH123
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> float:
    """Megabytes that a process holds."""
    with open(f"/proc/{process}/status", encoding="utf-8") as file:  # noqa: PTH123
        line = next(line for line in file if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def full_load(port: int, process: int, count: int) -> tuple[Counter[int], float, list[float]]:
    """Statuses and seconds of `count` requests from all clients, and the memory after each tenth of them."""
    statuses, seconds, held = Counter[int](), 0.0, []
    for part in range(10):
        found, _, taken = load(port, count * (part + 1) // 10 - count * part // 10, CLIENTS)
        statuses, seconds = statuses + found, seconds + taken
        held.append(memory(process))
    return statuses, seconds, held


def offline(run: str | None, count: int, threads: int) -> tuple[float, float]:
    """Texts a second of `explain`, and seconds of processor time a text."""
    import torch

    torch.set_num_threads(threads)
    explained, some = system(run), list(islice(texts(), count))
    explained.explain(some[:CLIENTS])
    begin, before = time.perf_counter(), time.process_time()
    explained.explain(some)
    return count / (time.perf_counter() - begin), (time.process_time() - before) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--run", help="a trained system")
    parser.add_argument("--large", action="store_true", help="an encoder of the size of BERT-base")
    parser.add_argument("--requests", type=int, default=2000, help="at full throughput")
    parser.add_argument("--seconds", type=float, default=10, help="of half and of twice the capacity")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of the models")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.large:
            options.run = save_large(Path(folder))
        measure(options)


def measure(options: argparse.Namespace) -> None:
    offline_rate, offline_cost = offline(options.run, min(options.requests, 2000), options.threads)
    here, there = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(
        target=serve, args=(options.run, options.threads, there)
    )
    server.start()
    try:
        port = here.recv()
        load(port, 4 * CLIENTS, CLIENTS)  # warm
        for floor in (0, 3):
            asked = {"budget": "all", "faithfulness": True, "floor": floor}
            median, busy = alone(port, server.pid or 0, EXPLORED, **asked)
            said = "all budgets with faithfulness" + f" and {floor} random draws" * bool(floor)
            print(f"one sentence, {said}: median {median:.0f} ms, processor {busy:.0f} ms")
        before = memory(server.pid or 0)
        busy = processor(server.pid or 0)
        statuses, seconds, held = full_load(port, server.pid or 0, options.requests)
        cost = (processor(server.pid or 0) - busy) / options.requests
        capacity = options.requests / seconds
        ratio, both = capacity / offline_rate, f"{capacity:.0f}, {offline_rate:.0f} texts/s"
        print(f"throughput: served ÷ offline {ratio:.2f} ({both})")
        both = f"{1000 * offline_cost:.1f}, {1000 * cost:.1f} ms a text"
        print(f"  of processor time, as if nothing else ran: {offline_cost / cost:.2f} ({both})")
        print(f"  answers: {dict(statuses)}")
        print(f"  memory after each tenth: {', '.join(f'{size:.0f}' for size in held)} MB")
        half = max(100, int(options.seconds * capacity / 2))
        statuses, latencies, _ = load(port, half, CLIENTS, rate=capacity / 2)
        median, last = statistics.median(latencies), statistics.quantiles(latencies, n=100)[98]
        print(f"half load: p99 ÷ median {last / median:.2f} ({1000 * last:.0f}, {1000 * median:.0f} ms)")
        print(f"  answers: {dict(statuses)}")
        statuses, _, _ = load(port, int(options.seconds * 2 * capacity), OPEN_LOOP, rate=2 * capacity)
        others = sum(count for status, count in statuses.items() if status not in (200, 429))
        print(f"twice the capacity: {others} errors but 429; answers: {dict(statuses)}")
        after = memory(server.pid or 0)
        print(f"memory: after ÷ before {after / before:.3f} ({after:.0f}, {before:.0f} MB)")
    finally:
        here.send("stop")
        server.join(60)
        server.kill()


if __name__ == "__main__":
    main()
