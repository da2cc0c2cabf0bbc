"""Probes: each against the same edits written out by hand, one text and one pass at a time."""

from dataclasses import replace
from itertools import chain, permutations

import numpy as np
import pytest
import torch

import tiny
from planted import planted
from unirex.config import Config
from unirex.data.example import Example, Layout
from unirex.encoding.batch import collate
from unirex.encoding.encode import TextEncoder
from unirex.errors import UserError
from unirex.evaluation import probes
from unirex.evaluation.probes import PROBES, probe, shares, word_tokens
from unirex.evaluation.records import Probes
from unirex.extractors.heuristic import Gold, Random
from unirex.metrics.curves import deletion_auc, first_token_flips, flip_fraction, insertion_auc
from unirex.metrics.leave_one_out import loo_correlation
from unirex.metrics.naopc import normalised_aopc, order_aopc
from unirex.modeling import RationaleModel

TEXTS = ("a gorgeous , witty film .", "dull .", "not bad , not good , unbelievably long", "good")
FAMILIES = ("bert", "roberta")
REMOVALS = ("delete", "attention_mask", "mask_token")


class Asked:
    """A few texts before a tiny model, and the same questions by hand."""

    def __init__(self, folder, texts=TEXTS, *, removal="delete", layout=None, labels=("neg", "pos")):
        self.removal = removal
        self.model = tiny.build_model(folder, labels=labels, pooling="mean") if layout is None else None
        tokens = tiny.PreTrainedTokenizerFast.from_pretrained(folder)
        self.mask, self.pad = tokens.mask_token_id, tokens.pad_token_id
        self.encoder = TextEncoder(tokens, 98, labels, layout=layout or Layout())
        self.examples = [
            one if isinstance(one, Example) else Example(str(number), (one,), "pos")
            for number, one in enumerate(texts)
        ]
        self.encoded = self.encoder.encode(self.examples)

    def step(self, numbers=None, **changes):
        some = self.encoded if numbers is None else [self.encoded[number] for number in numbers]
        made = self.model.step(collate(some, self.pad), removal=self.removal)
        return replace(made, **changes)

    @torch.no_grad()
    def probe(self, *names, numbers=None, extractor=None, **options):
        numbers = range(len(self.encoded)) if numbers is None else numbers
        step = self.step(numbers, **({"extractor": extractor} if extractor else {}))
        of = [[side[number] for number in numbers] for side in (self.examples, self.encoded)]
        return probe(step, names or PROBES, *of, **options)

    @torch.no_grad()
    def logits(self, tokens, gone, embeds=None):
        """The logits of one sequence without the tokens at some places."""
        ids = torch.tensor(tokens.input_ids.tolist())
        kept = torch.tensor([place not in gone for place in range(len(ids))])
        if self.removal == "delete":
            ids, kept = ids[kept], kept[kept]
        if self.removal == "mask_token":
            ids, kept = torch.where(kept, ids, self.mask), torch.ones_like(kept)
        words = {"input_ids": ids[None]} if embeds is None else {"inputs_embeds": embeds[None]}
        states = self.model.task.encoder(**words, attention_mask=kept[None].long()).last_hidden_state[0]
        return self.model.task.head(states[kept].mean(0))

    def by_hand(self, number):
        """An example's only sequence, its places by score, scores, target, and p without some places."""
        (tokens,) = self.encoded[number].sequences
        with torch.no_grad():
            step = self.step([number])
            scores, target = step.scores[0].tolist(), int(step.target[0])
        places = sorted(tokens.selectable.nonzero()[0].tolist(), key=lambda place: -scores[place])
        return tokens, places, scores, target, lambda gone: self.logits(tokens, gone).softmax(-1).tolist()


def close(found, expected):
    np.testing.assert_allclose(np.array(found), np.array(expected), rtol=1e-5, atol=1e-5)


@pytest.fixture(params=[(family, removal) for family in FAMILIES for removal in REMOVALS], ids="-".join)
def asked(request, encoders):
    family, removal = request.param
    return Asked(encoders(family), removal=removal)


@pytest.fixture
def on_bert(encoders):
    return Asked(encoders("bert"))


def test_curves_are_those_of_tokens_removed_one_by_one(asked):
    for number, found in enumerate(asked.probe("curves")):
        _, places, _, _, say = asked.by_hand(number)
        steps = range(1, len(places) + 1)
        close(found.deletion, [say(places[:size]) for size in steps])
        close(found.insertion, [say(places[size:]) for size in steps])
        close(found.first, say(places[:1]))
        close(found.empty, say(places))
        assert found.left_out is found.words is found.zero is None


def test_longer_texts_have_as_many_points_as_are_asked_for(asked):
    for number, found in enumerate(asked.probe("curves", points=3)):
        _, places, _, _, say = asked.by_hand(number)
        steps = min(3, len(places))
        counts = [round(size * len(places) / steps) for size in range(1, steps + 1)]  # halves to the even
        close(found.deletion, [say(places[:count]) for count in counts])
        close(found.insertion, [say(places[count:]) for count in counts])
        close(found.first, say(places[:1]))


def test_each_token_alone_is_left_out_in_the_order_of_the_text(asked):
    for number, found in enumerate(asked.probe("leave-one-out")):
        _, places, _, target, say = asked.by_hand(number)
        close(found.left_out, [say([place])[target] for place in sorted(places)])


def test_words_go_by_their_highest_token_and_the_bounds_are_those_of_every_order(asked):
    for number, found in enumerate(asked.probe("naopc")):
        tokens, _, scores, target, say = asked.by_hand(number)
        groups = word_tokens(asked.examples[number].segments, tokens)
        order = sorted(range(len(groups)), key=lambda word: -max(scores[place] for place in groups[word]))

        def without(some, groups=groups, say=say, target=target):
            return say([place for word in some for place in groups[word]])[target]

        close(found.words, [without(order[:size]) for size in range(1, len(groups) + 1)])
        if len(groups) <= 6:
            known, full = {}, say([])[target]
            for order in permutations(range(len(groups))):
                for size in range(1, len(groups) + 1):
                    some = frozenset(order[:size])
                    known[some] = known[some] if some in known else full - without(some)
            areas = [
                np.mean([known[frozenset(order[:size])] for size in range(1, len(groups) + 1)])
                for order in permutations(range(len(groups)))
            ]
            close([found.lowest, found.highest], [min(areas), max(areas)])
        assert found.exact == (len(groups) <= 8)
        with torch.no_grad():
            full = float(asked.step([number]).full.logits.softmax(-1)[0, target])
        assert found.lowest - 1e-6 <= order_aopc(full, found.words) <= found.highest + 1e-6


def test_embeddings_fade_by_score(asked):
    for number, found in enumerate(asked.probe("soft", draws=3, seed=4)):
        tokens, places, scores, target, _ = asked.by_hand(number)
        ids, places = tokens.input_ids.tolist(), sorted(places)
        given = np.array([scores[place] for place in places])
        spread = np.ptp(given)
        chance = (given - given.min()) / spread if spread else np.ones_like(given)
        embeds = asked.model.task.embed(torch.tensor(ids)).detach()

        def faded(stays, embeds=embeds, places=places, tokens=tokens, target=target):
            changed = embeds.clone()
            changed[places] *= torch.tensor(stays, dtype=torch.float)
            return float(asked.logits(tokens, [], changed).softmax(-1)[target])

        close(found.zero, faded(np.zeros((len(places), tiny.HIDDEN))))
        for draw in range(3):
            drawn = np.random.default_rng([4, draw, *ids]).random((len(places), tiny.HIDDEN))
            close(found.soft_kept[draw], faded(drawn < chance[:, None]))
            close(found.soft_removed[draw], faded(drawn >= chance[:, None]))


@pytest.mark.parametrize("family", ["bert", "modernbert-local", "bigbird-sparse"])
def test_neither_the_batch_nor_the_groups_change_an_answer(encoders, monkeypatch, family):
    asked = Asked(encoders(family))
    together = asked.probe()
    monkeypatch.setattr(probes, "GROUP", 100)  # a few views at a time
    alone = [asked.probe(numbers=[number])[0] for number in range(len(TEXTS))]
    for one, other in zip(together, alone, strict=True):
        for field in Probes.__dataclass_fields__:
            found, again = getattr(one, field), getattr(other, field)
            assert (found is None) == (again is None), field
            if found is not None:
                close(found, again)
    assert asked.probe() == asked.probe()


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_alone_is_as_among_others(on_bert, name):
    for one, other in zip(on_bert.probe(name), on_bert.probe(), strict=True):
        known = {field: value for field in Probes.__dataclass_fields__ if (value := getattr(one, field))}
        assert known
        for field, value in known.items():
            close(value, getattr(other, field))


def test_what_is_not_asked_for_is_not_known(on_bert):
    (found, *_) = on_bert.probe("empty")
    assert found == Probes(empty=found.empty)
    with torch.no_grad():
        assert probe(on_bert.step(), (), on_bert.examples, on_bert.encoded) == [Probes()] * len(TEXTS)


def test_of_equal_scores_the_leftmost_goes_first(on_bert):
    found = on_bert.probe("curves", "naopc", extractor=lambda full, _: torch.ones(full.batch.input_ids.shape))
    for number, one in enumerate(found):
        _, places, _, target, say = on_bert.by_hand(number)
        close(one.deletion, [say(sorted(places)[:size]) for size in range(1, len(places) + 1)])
        groups = word_tokens(on_bert.examples[number].segments, on_bert.encoded[number].sequences[0])
        gone = [list(chain(*groups[:size])) for size in range(1, len(groups) + 1)]
        close(one.words, [say(some)[target] for some in gone])


def test_probing_by_curves_costs_two_passes_a_token(encoders):
    asked = Asked(encoders("bert"), ("a good film .", "dull"))
    with torch.no_grad():
        step = asked.step()
        _ = step.scores
        with tiny.counted(asked.model.task.encoder) as shapes:
            probe(step, PROBES[:2], asked.examples, asked.encoded)
    (long, short) = (int(one.sequences[0].selectable.sum()) for one in asked.encoded)
    # Without the first and without all are on the curve; with all is the whole text, which is known.
    assert sum(rows for rows, _ in shapes) == (2 * long - 1) + (2 * short - 1)


# Words


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
@pytest.mark.parametrize(
    "text", ["  so, unbelievably\u00a0good –\nfilm!  ", "电影 很好", "a", "déjà vu ✨ x"]
)
@pytest.mark.parametrize("separators", [False, True])
def test_every_selectable_token_belongs_to_one_word(kind, text, separators):
    encoder = TextEncoder(tiny.tokenizer(kind), 90, ("neg", "pos"), separators=separators)
    (one,) = encoder.encode([Example("x", (text, "not bad"), "pos")])
    (tokens,) = one.sequences
    groups = word_tokens((text, "not bad"), tokens)
    assert sorted(chain(*groups)) == tokens.selectable.nonzero()[0].tolist()
    spoken = [
        "".join(
            (text, "not bad")[segment][start:end] for segment, start, end in tokens.spans[places].tolist()
        )
        for places in groups
    ]
    whole = [*text.split(), "not", "bad"]
    assert len(groups) == len(whole)
    for said, word in zip(spoken, whole, strict=True):
        # A character of several tokens is said by each of them.
        assert set("".join(said.split())) == set(word)


def test_texts_of_many_words_have_no_bounds(on_bert):
    found = on_bert.probe("naopc", words_up_to=2)
    assert [one.words is None for one in found] == [True, False, True, False]
    assert found[0] == Probes()


# Fading


def test_only_what_can_be_selected_fades_and_only_to_nothing(encoders, monkeypatch):
    asked, heard = Asked(encoders("bert"), TEXTS[:1]), []
    forward = type(asked.model.task).forward

    def listen(task, batch, embeds=None):
        heard.append(embeds)
        return forward(task, batch, embeds)

    step = asked.step()
    with torch.no_grad():
        _ = step.scores
        monkeypatch.setattr(type(asked.model.task), "forward", listen)
        probe(step, ["soft"], asked.examples, asked.encoded, draws=200)
    (tokens,) = asked.encoded[0].sequences
    whole, inside = step.full.embeds[0], torch.from_numpy(tokens.selectable)
    rows = torch.cat(heard)  # [401, T, H]
    assert len(rows) == 401 and bool(((rows == whole) | (rows == 0)).all())
    assert bool((rows[:, ~inside] == whole[~inside]).all())
    kept, removed = (
        (rows[part] != 0).float().mean((0, 2))[inside] for part in (slice(1, 201), slice(201, 401))
    )
    expected = shares(step.scores, step.batch.selectable)[0, inside].float()
    assert (rows[0][inside] == 0).all()
    torch.testing.assert_close(kept, expected, atol=0.03, rtol=0)
    torch.testing.assert_close(removed, 1 - expected, atol=0.03, rtol=0)


def test_another_seed_is_another_draw(on_bert):
    one, other = (on_bert.probe("soft", seed=seed)[0] for seed in (0, 1))
    close(one.zero, other.zero)
    assert np.abs(np.subtract(one.soft_kept, other.soft_kept)).max() > 1e-3
    assert len(set(one.soft_kept)) > 1


def test_scores_that_are_all_alike_keep_everything(on_bert):
    alike = on_bert.probe("soft", extractor=lambda full, _: torch.full(full.batch.input_ids.shape, 0.3))
    for number, found in enumerate(alike):
        _, _, _, target, say = on_bert.by_hand(number)
        close(found.soft_kept, [say([])[target]] * 5)
        close(found.soft_removed, [found.zero] * 5)


# Kinds of texts


@pytest.mark.parametrize("family", FAMILIES)
def test_of_choices_all_sequences_lose_their_tokens_at_once(encoders, family):
    questions = [
        Example("q0", ("where is the film dull",), "B", None, ("the plot", "it", "a good audience")),
        Example("q1", ("what",), "A", None, ("fun", "the director and the plot")),
    ]
    layout = Layout(1, choice=True, rationale_segments=(0, 1), markers=("Q:", "A:"))
    asked = Asked(encoders(family), questions, layout=layout, labels=("A", "B", "C"))
    torch.manual_seed(1)
    config = Config(encoder=str(encoders(family)), pooling="mean")
    asked.model = RationaleModel.from_encoder(config, ("A", "B", "C"), layout=layout).eval()
    tiny.shaken(asked.model.task.head, seed=1)
    with torch.no_grad():
        scores = asked.step().scores.tolist()
    first = 0
    for one, found in zip(asked.encoded, asked.probe(points=4), strict=True):
        ranked = [
            sorted(tokens.selectable.nonzero()[0].tolist(), key=lambda place, row=row: -scores[row][place])
            for row, tokens in enumerate(one.sequences, first)
        ]
        steps = min(4, max(map(len, ranked)))

        def say(gone, one=one):
            said = [asked.logits(tokens, some) for tokens, some in zip(one.sequences, gone, strict=True)]
            return torch.cat(said).softmax(-1).tolist()

        for step in range(1, steps + 1):
            count = [round(step * len(places) / steps) for places in ranked]
            close(found.deletion[step - 1], say([p[:c] for p, c in zip(ranked, count, strict=True)]))
            close(found.insertion[step - 1], say([p[c:] for p, c in zip(ranked, count, strict=True)]))
        close(found.first, say([places[:1] for places in ranked]))
        close(found.empty, say(ranked))
        assert len(found.deletion) == len(found.insertion) == steps
        assert found.left_out is found.words is found.lowest is found.zero is found.soft_kept is None
        first += len(one.sequences)


def test_a_text_read_in_windows_is_probed_whole(encoders):
    folder = encoders("bert")
    asked = Asked(folder, ("a good film and a dull plot " * 3,))
    asked.model = tiny.build_model(folder, pooling="mean", max_length=12)
    tokens = tiny.PreTrainedTokenizerFast.from_pretrained(folder)
    asked.encoder = TextEncoder(tokens, 12, ("neg", "pos"), truncation="windows")
    asked.encoded = asked.encoder.encode(asked.examples)
    (found,) = asked.probe("curves", "leave-one-out", "soft", "naopc")
    count = int(asked.encoded[0].sequences[0].selectable.sum())
    assert count == 21 == len(found.deletion) == len(found.left_out) == len(found.words)
    assert np.isfinite([*found.left_out, *found.words, *found.soft_kept, found.zero]).all()
    assert np.ptp(found.left_out) > 0 and found.lowest < found.highest


@pytest.mark.parametrize("blank", ["\u200b", "\u00ad"])
def test_a_text_of_which_nothing_can_be_removed(encoders, blank):
    asked = Asked(encoders("bert"), (blank,))
    assert not asked.encoded[0].sequences[0].selectable.any()
    (found,) = asked.probe()
    assert found.deletion == found.insertion == found.left_out == ()
    assert found.words is None
    close(found.first, found.empty)
    (_, other) = Asked(encoders("bert"), (blank, "good film")).probe()
    assert len(other.deletion) == 2


def test_mistakes_are_named(on_bert):
    with pytest.raises(UserError, match=r"curve.*empty, curves, leave-one-out, naopc, soft"):
        on_bert.probe("curve")
    for options in ({"points": 0}, {"draws": 0}):
        with pytest.raises(UserError, match="at least 1"):
            on_bert.probe("soft", **options)


# What they are for


def test_who_knows_the_deciding_word_beats_chance_by_every_metric(classifier):
    examples = planted()["test"][:20]
    encoded = classifier.text_encoder.encode(examples)
    rows = {}
    for name, extractor in (("gold", Gold(None)), ("random", Random(None))):
        with torch.no_grad():
            step = replace(classifier.model.step(collate(encoded, 0), removal="delete"), extractor=extractor)
            found = probe(step, PROBES, examples, encoded)
            whole, scores = step.full.logits.softmax(-1).tolist(), step.scores.tolist()
        rows[name] = np.nanmean(
            [
                values(one, full, [scores[row][place] for place in tokens.selectable.nonzero()[0]])
                for row, (one, full, (tokens,)) in enumerate(
                    zip(found, whole, (one.sequences for one in encoded), strict=True)
                )
            ],
            axis=0,
        )
    better = np.array([-1, 1, 1, -1, 1, 1])  # deletion and flips sooner, the rest higher
    assert ((rows["gold"] - rows["random"]) * better > 0.1).all(), rows


def values(found, full, scores):
    """Deletion, insertion, flip by the first token, by a share of them, leave-one-out, normalised AOPC."""
    target = int(np.argmax(full))
    deletion, insertion = (np.array(side)[:, target] for side in (found.deletion, found.insertion))
    return (
        deletion_auc(full[target], deletion),
        insertion_auc(found.empty[target], insertion),
        first_token_flips(full, found.first),
        flip_fraction(full, found.deletion),
        loo_correlation(scores, full[target], found.left_out),
        normalised_aopc(full[target], found.words, found.lowest, found.highest),
    )
