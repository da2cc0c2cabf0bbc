"""One training step and one evaluation as naive as can be: the numbers that every shortcut must give.

Written from docs/spec (selection, removal, attributions, objectives, metrics) and from what is promised
of windows over long texts. All it takes from the library are the modules that hold weights, plain settings,
and the tokens of a batch. Every text is padded to one fixed length, a removed token is hidden by the
attention mask, every view has a forward of its own, the extractor always has its own pass; nothing is sorted,
dropped, shared or reused, and what can be is a Python loop.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional as F

LENGTH = 40  # every sequence is padded to it
GAUSS_LEGENDRE = (
    (0.5 - math.sqrt(0.15), 5 / 18),
    (0.5, 8 / 18),
    (0.5 + math.sqrt(0.15), 5 / 18),
)  # on [0, 1]


@dataclass(frozen=True)
class Text:
    """One sequence in plain lists."""

    ids: list[int]
    special: list[bool]
    selectable: list[bool]
    sliding: list[bool]
    gold: list[bool] | None
    example: int
    choice: bool

    def only(self, kept):
        """The text with the other tokens deleted."""
        ids, special, selectable, sliding = (
            [value for value, stays in zip(values, kept, strict=True) if stays]
            for values in (self.ids, self.special, self.selectable, self.sliding)
        )
        return Text(ids, special, selectable, sliding, None, self.example, self.choice)


def texts_of(batch):
    """The sequences of a batch without their padding."""
    found = []
    for row in range(len(batch.input_ids)):
        length = int(batch.attention_mask[row].sum())
        has = batch.rationale is not None and bool(batch.has_rationale[row])
        found.append(
            Text(
                ids=batch.input_ids[row, :length].tolist(),
                special=batch.special[row, :length].tolist(),
                selectable=batch.selectable[row, :length].tolist(),
                sliding=[False] * length if batch.sliding is None else batch.sliding[row, :length].tolist(),
                gold=batch.rationale[row, :length].tolist() if has else None,
                example=row if batch.example is None else int(batch.example[row]),
                choice=batch.choice is not None,
            )
        )
    return found


def window_places(text, size, stride):
    """Where the tokens of each window of a text stand; of a text that fits there is one, with all of them."""
    every = range(len(text.ids))
    if len(every) <= size:
        return [list(every)]
    fixed = [place for place in every if not text.sliding[place]]
    moving = [place for place in every if text.sliding[place]]
    room = size - len(fixed)
    begins = sorted({*range(0, len(moving) - room, stride or room * 3 // 4), len(moving) - room})
    return [sorted([*fixed, *moving[begin : begin + room]]) for begin in begins]


def rationale_of(text, scores, budget):
    """The best `budget` per cent of the selectable tokens: at least one, halves to the even number (A3)."""
    places = [place for place, selectable in enumerate(text.selectable) if selectable]
    count = max(1, round(len(places) * budget / 100))
    values = scores.tolist()
    best = sorted(places, key=lambda place: -values[place])[:count]  # stable: of equals the leftmost
    return [place in best for place in range(len(text.ids))]


class Naive:
    """The same weights, used the long way round."""

    def __init__(self, model, *, length=LENGTH):
        self.task, self.extractor, self.config = model.task, model.extractor, model.config
        self.length = length

    # --- the encoder ---

    def read(self, encoder, texts, shown, embeds=None):
        """Every window of every text, statically padded, through an encoder: its output, mask and rows."""
        rows = [(number, places) for number, text in enumerate(texts) for places in self.places(text)]
        ids = torch.full((len(rows), self.length), self.config.encoder.pad_token_id)
        mask = torch.zeros(len(rows), self.length, dtype=torch.long)
        for row, (number, places) in enumerate(rows):
            for column, place in enumerate(places):
                ids[row, column] = texts[number].ids[place]
                mask[row, column] = shown[number][place]
        if embeds is None:
            return encoder(input_ids=ids, attention_mask=mask), mask, rows
        words = encoder.get_input_embeddings()(ids)
        words = torch.stack(
            [
                torch.cat([embeds[number][places], words[row, len(places) :]])
                for row, (number, places) in enumerate(rows)
            ]
        )
        return encoder(inputs_embeds=words, attention_mask=mask), mask, rows

    def places(self, text):
        return window_places(text, self.config.max_length, self.config.stride)

    def logits(self, texts, shown, embeds=None):
        """The logits of every text of which `shown` is seen: the mean of its windows by what they show."""
        output, mask, rows = self.read(self.task.encoder, texts, shown, embeds)
        row_logits = self.task.head(self.pooled(output, mask))
        found = []
        for number, text in enumerate(texts):
            mine = [row for row, (owner, _) in enumerate(rows) if owner == number]
            weights = [
                sum(text.sliding[place] and shown[number][place] for place in rows[row][1]) for row in mine
            ]
            weights = weights if any(weights) else [1] * len(mine)
            total = sum(weight * row_logits[row] for weight, row in zip(weights, mine, strict=True))
            found.append(total / sum(weights))
        return found

    def pooled(self, output, mask):
        hidden = output.last_hidden_state
        if self.config.pooling == "pooler":
            return output.pooler_output
        if self.config.pooling == "cls":
            return hidden[:, 0]
        return (hidden * mask[..., None]).sum(1) / mask.sum(1)[:, None]

    def states(self, encoder, texts):
        """The last state of every token of every text: the mean over the windows it stands in."""
        output, _, rows = self.read(encoder, texts, whole(texts))
        found = []
        for number, text in enumerate(texts):
            seen = [[] for _ in text.ids]
            for row, (owner, places) in enumerate(rows):
                for column, place in enumerate(places if owner == number else ()):
                    seen[place].append(output.last_hidden_state[row, column])
            found.append(torch.stack([torch.stack(states).mean(0) for states in seen]))
        return found

    # --- the extractor (A5) ---

    def scores(self, texts, target):
        """The scores of every text's tokens; `target` is the class of each example."""
        if self.config.extractor == "integrated-gradients":
            return self.integrated_gradients(texts, target)
        encoder = self.task.encoder if self.config.extractor == "shared-lm" else self.extractor.encoder
        return [self.extractor.head(states).squeeze(-1) for states in self.states(encoder, texts)]

    def integrated_gradients(self, texts, target):
        embed = self.task.encoder.get_input_embeddings()
        pad = self.config.encoder.pad_token_id
        ends = [embed(torch.tensor(text.ids)) for text in texts]
        nothing = [
            [one if special else pad for one, special in zip(text.ids, text.special, strict=True)]
            for text in texts
        ]
        starts = [embed(torch.tensor(ids)) for ids in nothing]
        create_graph = bool(self.config.extractor_options.get("create_graph")) and torch.is_grad_enabled()
        slopes = [0.0] * len(texts)
        for point, weight in GAUSS_LEGENDRE:
            for number, slope in enumerate(self.slopes(texts, target, starts, ends, point, create_graph)):
                slopes[number] = slopes[number] + weight * slope
        return [
            ((end - start) * slope).sum(-1) for start, end, slope in zip(starts, ends, slopes, strict=True)
        ]

    def slopes(self, texts, target, starts, ends, point, create_graph):
        """How each text's explained logit changes with its words, at a point between nothing and the text."""
        with torch.enable_grad():
            words = [start + point * (end - start) for start, end in zip(starts, ends, strict=True)]
            if not create_graph:
                words = [one.detach().requires_grad_() for one in words]
            logits = self.logits(texts, whole(texts), words)
            chosen = [0 if text.choice else int(target[text.example]) for text in texts]
            explained = sum(one[place] for one, place in zip(logits, chosen, strict=True))
            return torch.autograd.grad(explained, words, create_graph=create_graph)

    # --- views (A4) ---

    def views(self, texts, scores, budgets, removal):
        """Per budget the answers without the rationale, and with nothing else."""
        dropped, kept = [], []
        for budget in budgets:
            chosen = [
                rationale_of(text, one.detach(), budget) for text, one in zip(texts, scores, strict=True)
            ]
            dropped.append(
                self.answers(
                    texts,
                    [[not selected for selected in row] for row in chosen],
                    removal,
                )
            )
            kept.append(self.answers(texts, chosen, removal))
        return dropped, kept

    def answers(self, texts, shown, removal="attention_mask"):
        """The logits of every example; what cannot be selected is always seen."""
        shown = [
            [flag or not free for flag, free in zip(row, text.selectable, strict=True)]
            for row, text in zip(shown, texts, strict=True)
        ]
        if removal == "delete":
            texts = [text.only(row) for text, row in zip(texts, shown, strict=True)]
            shown = whole(texts)
        logits = self.logits(texts, shown)
        if not texts[0].choice:
            return logits
        examples = 1 + max(text.example for text in texts)
        return [
            torch.cat([one for text, one in zip(texts, logits, strict=True) if text.example == number])
            for number in range(examples)
        ]

    # --- losses (A6) ---

    def losses(self, batch, *, budgets=None):
        """Every term of the loss, and `loss`: their weighted sum."""
        texts, labels = texts_of(batch), batch.labels.tolist()
        budgets = self.config.budgets if budgets is None else budgets
        scores = self.scores(texts, labels)
        full = self.answers(texts, whole(texts))
        dropped, kept = self.views(texts, scores, budgets, self.config.removal)
        terms = {
            "task": mean(self.cross_entropy(one, label) for one, label in zip(full, labels, strict=True)),
            "comprehensiveness": self.comprehensiveness(full, dropped, labels),
            "sufficiency": self.sufficiency(full, kept, labels),
            "plausibility": plausibility(texts, scores),
        }
        asked = {name: options["weight"] for name, options in self.config.objectives.items()}
        found = {name: term for name, term in terms.items() if asked[name]}
        return found | {"loss": sum(asked[name] * term for name, term in found.items())}

    def cross_entropy(self, logits, label):
        weights = self.config.class_weights
        return -logits.log_softmax(-1)[label] * (1 if weights is None else weights[label])

    def comprehensiveness(self, full, dropped, labels):
        options, found = self.config.objectives["comprehensiveness"], []
        for answers in dropped:
            for whole_text, without, label in zip(full, answers, labels, strict=True):
                difference = self.cross_entropy(whole_text, label) - self.cross_entropy(without, label)
                found.append(hinge(difference, options))
        return mean(found)

    def sufficiency(self, full, kept, labels):
        options, found = self.config.objectives["sufficiency"], []
        for answers in kept:
            for whole_text, alone, label in zip(full, answers, labels, strict=True):
                difference = self.cross_entropy(alone, label) - self.cross_entropy(whole_text, label)
                if options["criterion"] == "kl":  # KL(rationale || whole), summed over classes (D-8)
                    found.append(F.kl_div(*log_softmax(whole_text, alone), log_target=True, reduction="sum"))
                elif options["criterion"] == "mae":
                    found.append(difference.abs())
                else:
                    found.append(hinge(difference, options))
        return mean(found)

    # --- metrics (A8) ---

    @torch.no_grad()
    def evaluated(self, batch, *, scores=None, removal=None):
        """Per example: the predicted class, p of it from the whole text and every view, and the scores."""
        texts = texts_of(batch)
        full = [one.softmax(-1) for one in self.answers(texts, whole(texts))]
        target = [int(one.argmax()) for one in full]
        scores = self.scores(texts, target) if scores is None else scores
        dropped, kept = self.views(texts, scores, self.config.budgets, removal or self.config.eval_removal)
        return [
            Seen(
                predicted=target[number],
                full=float(full[number][target[number]]),
                removed=[float(view[number].softmax(-1)[target[number]]) for view in dropped],
                kept=[float(view[number].softmax(-1)[target[number]]) for view in kept],
                texts=[text for text in texts if text.example == number],
                scores=[one for text, one in zip(texts, scores, strict=True) if text.example == number],
            )
            for number in range(len(full))
        ]


@dataclass(frozen=True)
class Seen:
    """All that the metrics of one example are made of."""

    predicted: int
    full: float
    removed: list[float]
    kept: list[float]
    texts: list[Text]
    scores: list[torch.Tensor]


def metrics(seen, gold_labels, classes, budgets):
    """Every metric, from scikit-learn and sums written out."""
    from sklearn.metrics import accuracy_score, f1_score

    predicted = [one.predicted for one in seen]
    every = {"labels": range(classes), "zero_division": 0}
    found = {
        "accuracy": accuracy_score(gold_labels, predicted),
        "macro_f1": f1_score(gold_labels, predicted, average="macro", **every),
    }
    if classes == 2:
        found["binary_f1"] = f1_score(gold_labels, predicted, zero_division=0)
    comp, suff = [], []
    for index, budget in enumerate(budgets):
        comp.append(np.mean([one.full - one.removed[index] for one in seen]))
        suff.append(np.mean([one.full - one.kept[index] for one in seen]))
        found |= {f"comprehensiveness@{budget:g}": comp[-1], f"sufficiency@{budget:g}": suff[-1]}
    for suffix, divisor in (("", len(budgets) + 1), ("_mean", len(budgets))):
        both = sum(comp) / divisor, sum(suff) / divisor
        found |= {f"comprehensiveness{suffix}": both[0], f"sufficiency{suffix}": both[1]}
        found[f"csd{suffix}"] = both[0] - both[1]
    return found | plausibility_metrics(seen, budgets)


def plausibility_metrics(seen, budgets):
    """Over examples that somebody marked something in; over the sequences of an example first."""
    columns = {}
    for one in seen:
        rows = [
            marks(*pair, budgets) for pair in zip(one.texts, one.scores, strict=True) if any_gold(pair[0])
        ]
        for name in rows[0] if rows else ():
            columns.setdefault(name, []).append(np.mean([row[name] for row in rows]))
    return {name: np.mean(values) for name, values in columns.items()}


def any_gold(text):
    free = zip(text.gold or (), text.selectable, strict=False)
    return any(gold and selectable for gold, selectable in free)


def marks(text, scores, budgets):
    """How well the scores of one sequence tell its marked tokens from the other selectable ones."""
    from sklearn.metrics import auc, precision_recall_curve

    places = [place for place, selectable in enumerate(text.selectable) if selectable]
    gold, values = [text.gold[place] for place in places], [float(scores[place]) for place in places]
    precision, recall, _ = precision_recall_curve(gold, values)
    above = [value > 0 for value in values]
    classes = {*gold, *above}  # one that neither side has does not count
    found = {
        "auprc": auc(recall, precision),
        "token_f1_macro2": sum(f1(gold, above, of=one) for one in classes) / len(classes),
        "token_f1": f1(gold, above),
    }
    for budget in budgets:
        chosen = rationale_of(text, scores, budget)
        found[f"token_f1@{budget:g}"] = f1(gold, [chosen[place] for place in places])
    return found


def f1(gold, chosen, of=True):
    """2 · hits / (marked + chosen) of one class; scikit-learn's takes a hundred times longer."""
    hits = sum(one == other == of for one, other in zip(gold, chosen, strict=True))
    return 2 * hits / max(1, gold.count(of) + chosen.count(of))


def plausibility(texts, scores):
    """Binary cross-entropy over all tokens of the marked texts, gold ones weighed up (A6.8)."""
    pairs = [
        (one[place], text.gold[place])
        for text, one in zip(texts, scores, strict=True)
        if text.gold is not None
        for place in range(len(text.ids))
    ]
    positive = sum(gold for _, gold in pairs)
    if not positive:
        return sum(one.sum() for one in scores) * 0
    weight = (len(pairs) - positive) / positive
    return sum(-weight * F.logsigmoid(s) if gold else -F.logsigmoid(-s) for s, gold in pairs) / len(pairs)


def hinge(difference, options):
    """max(-m, difference) + m, or the bare difference."""
    if options["criterion"] == "diff":
        return difference
    return max(-options["margin"], difference) + options["margin"]


def log_softmax(*logits):
    return [one.log_softmax(-1) for one in logits]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def whole(texts):
    """Everything of every text is seen."""
    return [[True] * len(text.ids) for text in texts]
