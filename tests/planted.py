"""Toy corpora where known words decide the label: whoever learns anything learns those words."""

import random

from unirex.data.example import SPLIT_NAMES, DatasetInfo, Example, Splits, choice_label

WORDS = "the a film plot it is and what people know director this audience like watch long"
FILLER = tuple(WORDS.split())
DECIDING = {"neg": ("bad", "dull", "worse"), "pos": ("good", "gorgeous", "fun")}


def planted(sizes=(160, 40, 40), seed: int = 0) -> Splits:
    """Texts of filler with one deciding word, which is gold."""
    chance = random.Random(seed)
    parts = {}
    for split, size in zip(("train", "dev", "test"), sizes, strict=True):
        parts[split] = tuple(one_example(f"{split}-{number}", chance) for number in range(size))
    return Splits(DatasetInfo("planted", ("neg", "pos")), parts)


def one_example(name: str, chance: random.Random) -> Example:
    """A text, its label and where the deciding word stands."""
    label = chance.choice(("neg", "pos"))
    words = [chance.choice(FILLER) for _ in range(chance.randint(4, 12))]
    place = chance.randrange(len(words))
    words[place] = chance.choice(DECIDING[label])
    start = len(" ".join(words[:place])) + (place > 0)
    return Example(name, (" ".join(words),), label, (((start, start + len(words[place])),),))


def planted_segments(count: int = 2, sizes=(160, 40, 40), seed: int = 0, **info) -> Splits:
    """Several texts of filler, one of which has the deciding word."""

    def make(name: str, chance: random.Random) -> Example:
        label, where = chance.choice(("neg", "pos")), chance.randrange(count)
        made = [filler(chance, chance.randint(3, 8), label if n == where else None) for n in range(count)]
        return Example(name, tuple(text for text, _ in made), label, tuple(gold for _, gold in made))

    return corpus(DatasetInfo("segments", ("neg", "pos"), "segments", **info), make, sizes, seed)


def planted_choices(sizes=(160, 40, 40), seed: int = 0, choices=(2, 4)) -> Splits:
    """Questions with so many choices, the fewest and the most; the right one is the one with a good word."""

    def make(name: str, chance: random.Random) -> Example:
        text, gold = filler(chance, chance.randint(3, 7), chance.choice(("neg", "pos")))
        number = chance.randint(*choices)
        right = chance.randrange(number)
        kinds = ["pos" if n == right else "neg" for n in range(number)]
        answers = tuple(filler(chance, chance.randint(1, 3), kind)[0] for kind in kinds)
        return Example(name, (text,), choice_label(right), (gold,), answers)

    letters = tuple(choice_label(number) for number in range(choices[1]))
    return corpus(
        DatasetInfo("choices", letters, "choice", "accuracy", (0,), ("Q:", "A:")), make, sizes, seed
    )


DECIDING_EACH = {"acting": ("good", "bad"), "plot": ("fun", "dull"), "sound": ("gorgeous", "worse")}


def planted_sets(sizes=(160, 40, 40), seed: int = 0) -> Splits:
    """Texts of filler with a deciding word for each of their labels, of which there are none to three."""

    def make(name: str, chance: random.Random) -> Example:
        words = [chance.choice(FILLER) for _ in range(chance.randint(6, 12))]
        chosen = sorted(label for label in DECIDING_EACH if chance.random() < 0.4)
        places = sorted(chance.sample(range(len(words)), len(chosen)))
        for label, place in zip(chosen, places, strict=True):
            words[place] = chance.choice(DECIDING_EACH[label])
        starts = [len(" ".join(words[:place])) + (place > 0) for place in places]
        gold = tuple((start, start + len(words[place])) for start, place in zip(starts, places, strict=True))
        return Example(name, (" ".join(words),), tuple(chosen), (gold,))

    info = DatasetInfo("sets", tuple(sorted(DECIDING_EACH)), metric="macro_f1", multi_label=True)
    return corpus(info, make, sizes, seed)


def planted_long(sizes=(96, 24, 32), seed: int = 0, words=(60, 130)) -> Splits:
    """Documents of so many words, six of which decide; some are longer than the learner has positions."""

    def make(name: str, chance: random.Random) -> Example:
        label = chance.choice(("neg", "pos"))
        text, gold = filler(chance, chance.randint(*words), label, run=6)
        return Example(name, (text,), label, (gold,))

    return corpus(DatasetInfo("long", ("neg", "pos")), make, sizes, seed)


def corpus(info: DatasetInfo, make, sizes, seed: int) -> Splits:
    """So many examples for each split, one after the other from one source of chance."""
    chance = random.Random(seed)
    pairs = zip(SPLIT_NAMES, sizes, strict=True)
    return Splits(
        info, {split: tuple(make(f"{split}-{n}", chance) for n in range(size)) for split, size in pairs}
    )


def filler(chance: random.Random, size: int, label: str | None, run: int = 1):
    """A text of so many words and its gold: a run of words that mean the label, or nothing."""
    words = [chance.choice(FILLER) for _ in range(size)]
    if label is None:
        return " ".join(words), ()
    place = chance.randrange(size - run + 1)
    words[place : place + run] = [chance.choice(DECIDING[label]) for _ in range(run)]
    start = len(" ".join(words[:place])) + (place > 0)
    return " ".join(words), ((start, start + len(" ".join(words[place : place + run]))),)


def save_learner(folder, *, layers: int = 2):
    """A tiny encoder with ordinary weights that knows every word of the corpus: it learns in seconds."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import AutoModel

    import tiny

    words = [*tiny.BERT_MARKS, *FILLER, *DECIDING["neg"], *DECIDING["pos"]]
    raw = Tokenizer(models.WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    raw.normalizer, raw.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokens = tiny.wrapped(raw, tiny.BERT_MARKS)
    config = tiny.encoder_config("bert", len(tokens), pad=tokens.pad_token_id)
    config.num_hidden_layers = layers
    config.initializer_range = 0.1
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


def same_weights(one, other) -> bool:
    """Whether two state dictionaries are equal, bit for bit."""
    return one.keys() == other.keys() and all(one[name].equal(other[name]) for name in one)


def interrupt_at(monkeypatch, step: int) -> None:
    """Ctrl-C in this training step, counted over all trainings."""
    from unirex.modeling import RationaleModel

    forward, calls = RationaleModel.forward, []

    def interrupted(self, **tensors):
        calls.append(1)
        if len(calls) == step:
            raise KeyboardInterrupt
        return forward(self, **tensors)

    monkeypatch.setattr(RationaleModel, "forward", interrupted)


def count_steps(monkeypatch) -> list[int]:
    """A list that grows with every training step."""
    from unirex.modeling import RationaleModel

    forward, steps = RationaleModel.forward, []
    monkeypatch.setattr(RationaleModel, "forward", lambda self, **t: steps.append(1) or forward(self, **t))
    return steps
