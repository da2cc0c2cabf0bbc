"""A stream of examples through a model, however long: read in windows, run by length, told in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

import torch

from unirex.batch import Batch, Encoded, collate
from unirex.batching import TOKENS, by_length
from unirex.data.example import Example
from unirex.encode import TextEncoder
from unirex.errors import UserError
from unirex.modeling import RationaleModel

BATCH_SIZE = 32
EVALUATED = 128  # texts evaluated together: the more, the better their views can be sorted
WINDOW = 1024  # texts read ahead and sorted by length

T = TypeVar("T")
Answer = Callable[[Sequence[Example], Sequence[Encoded], Batch], Iterable[T]]  # one for each example
Advance = Callable[[int], None]  # hears how many more are done


def stream(
    model: RationaleModel,
    encoder: TextEncoder,
    examples: Iterable[Example],
    answer: Answer[T],
    *,
    batch_size: int = BATCH_SIZE,
    advance: Advance | None = None,
) -> Iterator[T]:
    """What `answer` makes of each example, in the order of the examples.

    Only a window of them is in memory at a time, and inside a window texts of like length run together. The
    model is in eval mode without gradients while `answer` has a batch. `advance` hears, after every batch,
    how many examples it had: answers come a window at a time, which may take minutes.
    """
    if batch_size < 1:
        raise UserError(f"batch_size {batch_size}: must be at least 1.")
    source = iter(examples)
    while window := list(islice(source, WINDOW)):
        found: dict[int, T] = {}
        for numbers, made in _batches(model, encoder, window, answer, batch_size):
            found.update(zip(numbers, made, strict=True))
            if advance is not None:
                advance(len(numbers))
        for number in range(len(window)):
            yield found.pop(number)


def _batches(
    model: RationaleModel, encoder: TextEncoder, window: Sequence[Example], answer: Answer[T], size: int
) -> Iterator[tuple[list[int], list[T]]]:
    """The numbers of the examples in each batch, and what was made of them."""
    encoded = encoder.encode(window)
    with evaluating(model):  # once a window, as it visits every module
        for numbers in by_length([one.length for one in encoded], size, tokens=TOKENS):
            some = [encoded[number] for number in numbers]
            batch = collate(some, int(encoder.tokenizer.pad_token_id)).to(model.device)
            yield numbers, list(answer([window[number] for number in numbers], some, batch))


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Eval mode without gradients; the mode is left as it was found."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)
