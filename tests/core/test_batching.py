"""Every example has its turn once an epoch, whoever runs it, and every batch holds its gold."""

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from unirex.data.example import Example
from unirex.encoding.batching import GoldBatches, LengthGroupedBatches, by_length, training_batches
from unirex.encoding.gold import gold_share, keep_gold

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=90)


def some_lengths(size, longest=50):
    rng = random.Random(size)
    return [rng.randint(1, longest) for _ in range(size)]


@given(LENGTHS, st.integers(1, 7), st.integers(0, 5), st.integers(1, 3))
def test_each_example_comes_once_an_epoch(lengths, size, epoch, pool):
    batches = LengthGroupedBatches(lengths, size, seed=3, epoch=epoch, pool=pool)
    found = list(batches)
    assert len(found) == len(batches)
    assert sorted(index for batch in found for index in batch) == list(range(len(lengths)))
    assert max(map(len, found)) <= size


def test_epochs_and_seeds_shuffle_and_repeat():
    lengths = some_lengths(200)

    def order(seed, epoch):
        batches = LengthGroupedBatches(lengths, 8, seed=seed)
        batches.set_epoch(epoch)
        return list(batches)

    assert order(0, 0) == order(0, 0)
    assert order(0, 0) != order(0, 1)
    assert order(0, 0) != order(1, 0)


@given(LENGTHS, st.integers(1, 5), st.integers(2, 9))
def test_processes_share_an_epoch_evenly(lengths, size, world):
    shares = [list(LengthGroupedBatches(lengths, size, rank=rank, world_size=world)) for rank in range(world)]
    assert len({len(share) for share in shares}) == 1
    assert all(len(share) == len(LengthGroupedBatches(lengths, size, world_size=world)) for share in shares)
    seen = Counter(tuple(batch) for share in shares for batch in share)
    whole = {tuple(batch) for batch in LengthGroupedBatches(lengths, size)}
    assert set(seen) == whole  # what one process would see, but for the few batches repeated
    assert seen.total() - len(whole) < world
    assert max(seen.values()) - min(seen.values()) <= 1  # no batch counts much more than another
    last = [tuple(share[-1]) for share in shares]
    assert len(set(last)) == min(world, len(whole))  # nor is one repeated beside itself, if it can be helped


def test_like_lengths_run_together():
    lengths = some_lengths(400, longest=100)
    padded = sum(len(batch) * max(lengths[i] for i in batch) for batch in LengthGroupedBatches(lengths, 8))
    assert padded < 1.1 * sum(lengths)
    longest = [max(lengths[i] for i in batch) for batch in by_length(lengths, 8)]
    assert longest == sorted(longest, reverse=True)


def parts(batches):
    """Of each batch what is gold and what is not."""
    gold = set(batches.gold)
    return [([i for i in batch if i in gold], [i for i in batch if i not in gold]) for batch in batches]


def epoch_of(world, *arguments, **options):
    """What every process sees in an epoch."""
    return [parts(GoldBatches(*arguments, rank=rank, world_size=world, **options)) for rank in range(world)]


def test_half_of_32_is_gold():
    """B = 32, beta = 2, N = 200, gamma = 20: 40 gold; 160 others make 10 batches of 16 + 16."""
    examples = [Example(str(i), ("a",), 0, ((),)) for i in range(200)]
    pool = keep_gold(examples, 20, seed=0)
    batches = training_batches(some_lengths(200), pool, batch_size=32, factor=2, seed=0)
    found = parts(batches)
    assert len(pool.kept) == 40
    assert [(len(gold), len(others)) for gold, others in found] == [(16, 16)] * 10
    assert all(len(set(gold)) == 16 for gold, _ in found)
    assert sorted(i for _, others in found for i in others) == list(pool.others)


@st.composite
def settings(draw):
    size = draw(st.integers(2, 80))
    gold = draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=size - 1))
    lengths = draw(st.lists(st.integers(1, 60), min_size=size, max_size=size))
    factor = draw(st.sampled_from([1.01, 1.5, 2, 3, 10]))
    return lengths, draw(st.integers(2, 20)), sorted(gold), factor, draw(st.integers(-2, 2**40))


@given(settings(), st.integers(1, 5), st.integers(0, 3))
def test_whatever_the_sizes(given_settings, world, epoch):
    lengths, size, gold, factor, seed = given_settings
    shares = epoch_of(world, lengths, size, gold, factor, seed, epoch)
    check_epoch(shares, others=set(range(len(lengths))) - set(gold), gold=gold, size=size, factor=factor)
    steps = len(GoldBatches(lengths, size, gold, factor, world_size=world))
    assert [len(share) for share in shares] == [steps] * world


def check_epoch(shares, *, others, gold, size, factor):
    share = gold_share(size, factor)
    room = size - share
    assert len({len(one) for one in shares}) == 1
    rounds = [batch for step in zip(*shares, strict=True) for batch in step]  # in order of their number
    assert Counter(i for _, rest in rounds for i in rest) == Counter(others)  # each once, in all processes
    real = -(-len(others) // room)
    sizes = [len(rest) for _, rest in rounds]
    assert sorted(sizes[:real], reverse=True) == [room] * (real - 1) + [len(others) - room * (real - 1)]
    assert sizes[real:] == [0] * (len(rounds) - real) and len(rounds) - real < len(shares)
    for drawn, _ in rounds:
        assert len(drawn) == share
        assert len(gold) < share or len(set(drawn)) == share


def test_five_others_in_two_processes():
    """2 to a batch: 2 and 2, then 1 and none (in some order); each step has both processes in it."""
    shares = epoch_of(2, [1] * 9, 4, range(4), 2)
    assert [[len(gold) for gold, _ in share] for share in shares] == [[2, 2], [2, 2]]
    assert sorted(len(others) for share in shares for _, others in share) == [0, 1, 2, 2]
    assert len(shares[1][1][1]) == 0  # what is made up comes last


def test_a_resumed_run_draws_the_same():
    def batches(epoch, seed=0):
        found = GoldBatches(some_lengths(100), 8, range(20), 2, seed=seed)
        found.set_epoch(epoch)
        return found

    straight = batches(0)
    first = list(straight)
    straight.set_epoch(1)
    assert list(straight) == list(batches(1)) == list(batches(1)) != first
    assert list(batches(0, seed=1)) != first
    iterator = iter(straight)
    straight.set_epoch(0)  # the epoch counts when the first batch is asked for
    assert list(iterator) == first


def test_batches_are_numbered_across_processes():
    """So the others of a batch depend on the seed, the epoch and its number, not on how many processes."""
    one = parts(GoldBatches(some_lengths(110), 8, range(20), 2))
    two = epoch_of(2, some_lengths(110), 8, range(20), 2)
    mixed = [batch for step in zip(*two, strict=True) for batch in step]
    assert [others for _, others in mixed[: len(one)]] == [others for _, others in one]
    assert len(mixed) - len(one) == 1


@given(st.integers(2, 5), st.integers(1, 60), st.integers(0, 3))
def test_a_step_of_several_processes_repeats_no_gold(world, gold, epoch):
    """Of b_gold = 4: as long as there are 4 for each process; inside a batch never, if there are 4."""
    shares = epoch_of(world, some_lengths(gold + 50), 8, range(gold), 2, epoch=epoch)
    for step in zip(*shares, strict=True):
        drawn = [number for batch, _ in step for number in batch]
        assert len(drawn) == 4 * world
        if gold >= 4 * world:
            assert len(set(drawn)) == 4 * world


def test_processes_and_batches_draw_apart():
    shares = epoch_of(3, some_lengths(400), 16, range(200), 2)
    draws = [tuple(gold) for share in shares for gold, _ in share]
    assert len(set(draws)) == len(draws) > 20


def test_gold_is_drawn_uniformly():
    """20 epochs of 200 batches draw 4 of 40: each is expected 400 times, give or take sqrt(360) = 19."""
    batches, counts = GoldBatches(some_lengths(840), 8, range(40), 2), Counter()
    for epoch in range(20):
        batches.set_epoch(epoch)
        counts.update(i for gold, _ in parts(batches) for i in gold)
    assert set(counts) == set(range(40)) and counts.total() == 20 * 200 * 4
    assert all(abs(count - 400) < 95 for count in counts.values())


def test_a_tiny_pool_is_drawn_with_replacement():
    found = parts(GoldBatches([1] * 103, 32, [5, 6, 7], 2))
    assert len(found) == 7 and all(len(gold) == 16 for gold, _ in found)
    assert {i for gold, _ in found for i in gold} == {5, 6, 7}
    assert [len(others) for _, others in found].count(16) == 6
    assert all(gold == [5] * 16 for gold, _ in parts(GoldBatches([1] * 20, 32, [5], 2)))


def test_the_others_run_in_like_lengths():
    lengths = some_lengths(600, longest=100)
    padded = [
        (len(others) * max(lengths[i] for i in others), sum(lengths[i] for i in others))
        for _, others in parts(GoldBatches(lengths, 16, range(100), 2))
    ]
    assert sum(area for area, _ in padded) < 1.1 * sum(words for _, words in padded)


def test_a_loader_counts_the_steps_that_are_taken():
    """The learning rate falls over N_others / (b - b_gold) steps, here 160 / 16, not 160 / 32."""
    batches = GoldBatches([1] * 200, 32, range(40), 2)
    loader = DataLoader(range(200), batch_sampler=batches, collate_fn=list)
    assert len(loader) == len(list(loader)) == 10
    batches.rank, batches.world_size = 1, 4  # a trainer that knows its processes says so afterwards
    assert len(loader) == len(list(loader)) == 3


@pytest.mark.parametrize("gold", [[], range(10)])
def test_two_kinds_are_needed(gold):
    with pytest.raises(ValueError, match="some must not"):
        GoldBatches([1] * 10, 4, gold, 2)


@pytest.mark.parametrize(("fraction", "every"), [(100, 1), (100, 2), (95, 1)])
def test_gold_that_is_not_limited_needs_no_special_batches(fraction, every):
    """All of it, all there is, or so much that rounding up keeps it all."""
    examples = [Example(str(i), ("a",), 0, ((),) if i % every == 0 else None) for i in range(10)]
    pool = keep_gold(examples, fraction, seed=0)
    batches = training_batches([1] * 10, pool, batch_size=1, factor=1, seed=7)
    assert list(batches) == list(LengthGroupedBatches([1] * 10, 1, seed=7))


def test_gold_an_epoch_cannot_show_is_said(caplog):
    examples = [Example(str(i), ("a",), 0, ((),)) for i in range(100)]
    for fraction, said in ((20, False), (80, True)):
        training_batches([1] * 100, keep_gold(examples, fraction, 0), batch_size=10, factor=2)
        assert ("draws 20 times from the 80 examples with gold" in caplog.text) == said


def test_the_seed_of_the_pool_is_not_that_of_the_batches():
    """So one pool can be trained on under several seeds."""
    examples = [Example(str(i), ("a",), 0, ((),)) for i in range(100)]
    pool = keep_gold(examples, 10, seed=0)
    found = [list(training_batches([1] * 100, pool, batch_size=8, factor=2, seed=seed)) for seed in range(3)]
    assert all(one != other for one, other in itertools.combinations(found, 2))
