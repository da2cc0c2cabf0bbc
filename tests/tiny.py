"""Tiny random encoders with real tokenizers, small enough to try every family on a laptop."""

import copy
from collections.abc import Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from torch import nn
from transformers import (
    AutoModel,
    BertConfig,
    BigBirdConfig,
    DebertaV2Config,
    DistilBertConfig,
    LongformerConfig,
    ModernBertConfig,
    MPNetConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

from unirex.config import Config
from unirex.data.example import Example
from unirex.encoding.batch import Batch, collate
from unirex.encoding.encode import TextEncoder
from unirex.modeling import RationaleModel

SENTENCES = (
    "a gorgeous , witty , seductive film .",
    "the plot is thin and the acting is worse than bad .",
    "it never quite adds up , but what fun it is to watch these people try and fail and try again !",
    "dull .",
    "unbelievably good and believably told ; a film for people who do not like films",
    "nobody knows why the director wanted this , and the audience does not want to know either .",
    "not bad , not good , not long",
    "Ein schöner Film – naïve, déjà vu ✨ 电影 很 好 فيلم جيد",
)
FAMILIES = (
    "bert",
    "roberta",
    "distilbert",
    "mpnet",
    "bigbird",
    "bigbird-sparse",
    "modernbert",
    "modernbert-local",
    "deberta-v2",
)
TOKENIZERS = {"roberta": "bpe", "mpnet": "bpe", "modernbert": "bpe", "modernbert-local": "bpe"} | {
    "bigbird": "unigram",
    "bigbird-sparse": "unigram",
    "deberta-v2": "unigram",
    "bert": "wordpiece",
    "distilbert": "wordpiece",
    "longformer": "bpe",
}
HIDDEN = 32
POSITIONS = 100  # a multiple of the sparse block size, as BigBird asks
BERT_MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = (
    "a",
    "film",
    "films",
    "the",
    "is",
    "not",
    "good",
    "bad",
    "people",
    "and",
    "plot",
    "dull",
    "watch",
    "know",
)
ROBERTA_MARKS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def tokenizer(kind: str, texts: Sequence[str] = SENTENCES) -> PreTrainedTokenizerFast:
    """A fast tokenizer of a kind (`wordpiece`, `bpe`, `unigram`), trained on a few sentences."""
    raw, marks = {"wordpiece": _wordpiece, "bpe": _bpe, "unigram": _unigram}[kind](texts)
    return wrapped(raw, marks, kind=kind)


def wrapped(raw: Tokenizer, marks: Sequence[str], *, kind: str = "wordpiece") -> PreTrainedTokenizerFast:
    """A tokenizer as transformers knows it, with special tokens around every text."""
    begin, end = (marks[0], marks[2]) if kind == "bpe" else (marks[2], marks[3])
    special = [(mark, raw.token_to_id(mark)) for mark in (begin, end)]
    if kind == "bpe":
        raw.post_processor = processors.RobertaProcessing(special[1], special[0], add_prefix_space=False)
    else:
        raw.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A {end}", pair=f"{begin} $A {end} $B:1 {end}:1", special_tokens=special
        )
    pad, unknown = (marks[1], marks[3]) if kind == "bpe" else (marks[0], marks[1])
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        cls_token=begin,
        sep_token=end,
        pad_token=pad,
        unk_token=unknown,
        mask_token=marks[4],
        model_input_names=["input_ids", "attention_mask"],
    )


def _wordpiece(texts):
    # Its trainer gives another vocabulary every time (hash order): most words, and all letters, by hand.
    letters = sorted(set("".join(texts).lower()) - {" "})
    pieces = [*BERT_MARKS, *letters, *(f"##{one}" for one in letters), *WORDS, "##able", "##ably", "##ing"]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    raw = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    raw.normalizer = normalizers.BertNormalizer(lowercase=True)
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return raw, BERT_MARKS


def _bpe(texts):
    raw = Tokenizer(models.BPE(unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=320, special_tokens=list(ROBERTA_MARKS), initial_alphabet=alphabet, show_progress=False
        ),
    )
    return raw, ROBERTA_MARKS


def _unigram(texts):
    letters = sorted(set("".join(texts)) - {" "})
    pieces = [("\u2581", -3.0), *((one, -6.0) for one in letters), *((f"\u2581{one}", -5.0) for one in WORDS)]
    vocabulary = [*((mark, 0.0) for mark in BERT_MARKS), *pieces, ("able", -7.0), ("ably", -7.0)]
    raw = Tokenizer(models.Unigram(vocabulary, unk_id=1))
    raw.add_special_tokens(list(BERT_MARKS))
    raw.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("\u00ad", "")])
    raw.pre_tokenizer = pre_tokenizers.Metaspace()
    return raw, BERT_MARKS


def encoder_config(family: str, vocabulary: int, *, pad: int):
    """The configuration of a tiny encoder."""
    common = {
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    common |= {"intermediate_size": 48, "max_position_embeddings": POSITIONS, "pad_token_id": pad}
    sparse = {"attention_type": "block_sparse", "block_size": 4, "num_random_blocks": 1}
    makers = {
        "bert": lambda: BertConfig(**common),
        "roberta": lambda: RobertaConfig(**common, bos_token_id=0, eos_token_id=2),
        "distilbert": lambda: DistilBertConfig(
            vocab_size=vocabulary,
            dim=HIDDEN,
            n_layers=2,
            n_heads=4,
            hidden_dim=48,
            max_position_embeddings=POSITIONS,
            pad_token_id=pad,
        ),
        "mpnet": lambda: MPNetConfig(**common, bos_token_id=0, eos_token_id=2),
        "bigbird": lambda: BigBirdConfig(**common, attention_type="original_full", **MARK_IDS),
        "bigbird-sparse": lambda: BigBirdConfig(**common, **sparse, **MARK_IDS),
        "modernbert": lambda: ModernBertConfig(**common, **MODERN, local_attention=256),
        "longformer": lambda: LongformerConfig(
            **common, attention_window=[8, 8], bos_token_id=0, eos_token_id=2, sep_token_id=2
        ),
        "modernbert-local": lambda: ModernBertConfig(**common, **MODERN, local_attention=8),
        "deberta-v2": lambda: DebertaV2Config(
            **common, relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False
        ),
    }
    return makers[family]()


MARK_IDS = {"bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3}
MODERN = {"global_attn_every_n_layers": 2, "bos_token_id": 0, "eos_token_id": 2, "cls_token_id": 0} | {
    "sep_token_id": 2
}


def shaken(module: nn.Module, seed: int = 0, scale: float = 0.3) -> nn.Module:
    """The module with large random weights, so that a wrong input shows in the output."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator) * scale
            parameter.copy_(noise if parameter.dim() > 1 else parameter + noise)
    return module


def save_encoder(folder: Path, family: str) -> Path:
    """A tiny encoder with its tokenizer, as a folder that `Config(encoder=…)` reads."""
    tokens = tokenizer(TOKENIZERS[family])
    config = encoder_config(family, len(tokens), pad=tokens.pad_token_id)
    torch.manual_seed(0)
    shaken(AutoModel.from_config(config)).save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


def build_model(folder: Path, *, labels=("neg", "pos"), seed: int = 1, **settings) -> RationaleModel:
    """A system on a tiny encoder in eval mode; its heads are random and large."""
    made = Config(encoder=str(folder), **settings)
    model = built_once(made, labels, seed=seed)
    shaken(model.task.head, seed=seed)
    if hasattr(model.extractor, "head"):
        shaken(model.extractor.head, seed=seed + 1)
    return model.eval()


_built: dict[tuple, RationaleModel] = {}


def built_once(config: Config, labels: Sequence[str], *, seed: int, **options) -> RationaleModel:
    """A copy of the system with these settings: copying is ten times as fast as building one."""
    key = repr(config), tuple(labels), seed, repr(options)
    if key not in _built:
        torch.manual_seed(seed)
        _built[key] = RationaleModel.from_encoder(config, labels, **options)
    torch.manual_seed(seed)  # what a test draws does not depend on whether another has built it before
    return copy.deepcopy(_built[key])


def examples(texts: Sequence[str] = SENTENCES, labels=("neg", "pos")) -> list[Example]:
    """Every text with a label and its second word marked (the last text has no gold)."""
    made = []
    for number, text in enumerate(texts):
        start = text.index(" ") + 1 if " " in text else 0
        end = text.index(" ", start) if " " in text[start:] else len(text)
        gold = None if number == len(texts) - 1 else (((start, end),),)
        made.append(Example(str(number), (text,), labels[number % len(labels)], gold))
    return made


@cache
def tokenizer_in(folder: Path) -> PreTrainedTokenizerFast:
    """The tokenizer of a tiny encoder."""
    return PreTrainedTokenizerFast.from_pretrained(folder)


def build_batch(
    folder: Path, texts: Sequence[str] = SENTENCES, *, labels=("neg", "pos"), separators: bool = False
) -> Batch:
    """The texts as the encoder in the folder reads them."""
    tokens = tokenizer_in(folder)
    encoder = TextEncoder(tokens, POSITIONS - 2, labels, separators=separators)
    return collate(encoder.encode(examples(texts, labels)), tokens.pad_token_id)


def assert_same_choice(one, other, tolerance: float = 1e-5) -> None:
    """Tokens as (score, selected) agree up to rounding, which may choose between scores as good as equal."""
    one, other = list(one), list(other)
    assert [score for score, _ in one] == pytest.approx([score for score, _ in other], abs=tolerance)
    moved = [left[0] for left, right in zip(one, other, strict=True) if left[1] != right[1]]
    assert not moved or max(moved) - min(moved) <= 2 * tolerance


@contextmanager
def counted(encoder: nn.Module):
    """The shape [rows, tokens] of every pass through the encoder, in order."""
    shapes = []

    def note(_module, args, kwargs):
        first = kwargs.get("input_ids", kwargs.get("inputs_embeds"))
        shapes.append(tuple((first if first is not None else args[0]).shape[:2]))

    handle = encoder.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield shapes
    finally:
        handle.remove()
