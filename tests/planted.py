"""A toy corpus where one known word decides the label: whoever learns anything learns that word."""

import random

from unirex.data.example import DatasetInfo, Example, Splits

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


def save_learner(folder):
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
    config.initializer_range = 0.1
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder
