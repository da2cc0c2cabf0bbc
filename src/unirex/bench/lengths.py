"""The same comparisons over lengths: texts of exactly 16 to 512 tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from unirex.bench.explaining import explain
from unirex.bench.harness import Row, Timing, interleaved, ratio
from unirex.bench.references import PlainClassifier, predict
from unirex.bench.training import Trainee, trainees
from unirex.bench.workload import Workload
from unirex.data.example import Example
from unirex.encoding.batch import Batch, collate

FEWEST = 4  # texts in a batch, however long
STEPS = {
    "slm-fp": "SLM-FP step, all five budgets ÷ plain step",
    "slm-fp sampled": "SLM-FP step, one sampled budget ÷ plain step",
    "naive": "naive step (masked passes, no static padding) ÷ plain step",
}
EXPLAIN = "explain ÷ tokenise + plain batched forward"


def measure(work: Workload) -> Iterator[Row]:
    """Four rows for every length the encoder takes."""
    models = trainees(work, ["plain", *STEPS])
    limit = work.system.model.config.max_length
    for length in [length for length in work.pace.lengths if length <= limit]:
        texts = texts_of(work, length, max(FEWEST, work.pace.tokens // length))
        timings = time_steps(work, models, as_batch(work, texts))
        for case, what in STEPS.items():
            yield _row(case, what, timings[case], (case, "plain"), length)
        yield _row("explain", EXPLAIN, time_explain(work, texts), ("explain", "forward"), length)


def time_steps(work: Workload, models: dict[str, Trainee], batch: Batch) -> dict[str, dict[str, Timing]]:
    """Seconds of each step with those of the plain step beside it; of the naive one fewer, as it is slow."""
    cases = {name: one.over([batch]) for name, one in models.items()}
    naive = {name: cases[name] for name in ("naive", "plain")}
    quick = interleaved({name: case for name, case in cases.items() if name != "naive"}, work.pace.slow)
    return dict.fromkeys(STEPS, quick) | {"naive": interleaved(naive, max(1, work.pace.slow // 2))}


def time_explain(work: Workload, texts: Sequence[str]) -> dict[str, Timing]:
    """Seconds of explaining and of plain prediction."""
    system, plain = work.system, PlainClassifier(work.system).eval()
    cases: dict[str, Callable[[], Any]] = {
        "explain": lambda: explain(system, texts, work.batch_size),
        "forward": lambda: predict(plain, system.tokenizer, texts, work.batch_size),
    }
    return interleaved(cases, work.pace.slow + 2)


def as_batch(work: Workload, texts: Sequence[str]) -> Batch:
    """A training batch; the first word of every text is its gold rationale."""
    labels = work.data.info.labels
    examples = [
        Example(str(number), (text,), labels[number % len(labels)], (((0, len(text.split(" ")[0])),),))
        for number, text in enumerate(texts)
    ]
    return collate(list(work.system.text_encoder.encode(examples)), work.pad)


def texts_of(work: Workload, length: int, number: int) -> list[str]:
    """So many texts of exactly so many tokens, special ones included, out of the words of the corpus."""
    words = [word for text in work.texts(work.pace.explained) for word in text.split()]
    words *= 1 + 4 * length * number // len(words)
    found: list[str] = []
    start = 0
    while len(found) < number:
        text = cut(work, " ".join(words[start : start + length]), length)
        start += length if text else 1
        found += [text] if text else []
    return found


def cut(work: Workload, text: str, length: int) -> str | None:
    """The beginning of a text that has exactly so many tokens; None if it cannot be cut there."""
    tokenizer: Any = work.system.tokenizer
    special = tokenizer.num_special_tokens_to_add()
    options = {"add_special_tokens": False, "return_offsets_mapping": True, "verbose": False}
    offsets = tokenizer(text, **options)["offset_mapping"]
    short = text[: offsets[min(length - special, len(offsets)) - 1][1]]
    return short if len(tokenizer(short)["input_ids"]) == length else None


def _row(case: str, what: str, timings: dict[str, Timing], pair: tuple[str, str], length: int) -> Row:
    return ratio(f"{case} at {length}", f"{what}, {length} tokens", timings, pair, case=case, at=length)
