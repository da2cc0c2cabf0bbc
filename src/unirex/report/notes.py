"""Standard sentences of all reports: labels and budgets in words, and warnings printed with tables."""

from __future__ import annotations

from unirex.data.example import Label, choice_label
from unirex.explanation import Explanation
from unirex.metrics.performance import Collapse

SHOWN_LABELS = 5


def budget(explanation: Explanation) -> str:
    """How long the rationale may be."""
    return "any number of tokens" if explanation.budget >= 100 else f"{explanation.budget:g} % of the tokens"


def percent(probability: float) -> str:
    """A probability for people.

    >>> percent(0.931), percent(1.0)
    ('93.1 %', '100.0 %')
    """
    return f"{probability:.1%}".replace("%", " %")


def truncation(explanation: Explanation) -> str:
    """What the model never read."""
    count = explanation.truncated
    tokens = "1 token was" if count == 1 else f"{count} tokens were"
    return f"The text is too long for the model: {tokens} not read."


def completeness(explanation: Explanation) -> str:
    """How far the scores are from adding up to what they explain."""
    return f"completeness error of the scores: {explanation.completeness_error:.3g}"


def named(explanation: Explanation, label: Label) -> str:
    """A label as people know it: the letter of a choice with the text it stands for."""
    choices = explanation.choices or ()
    letters = [choice_label(number) for number in range(len(choices))]
    return f"{label} · {choices[letters.index(str(label))]}" if str(label) in letters else str(label)


def ranked(explanation: Explanation) -> list[tuple[Label, float]]:
    """The labels and their probabilities in the order of the task; of many labels only the likeliest."""
    pairs = list(explanation.probabilities.items())
    if len(pairs) <= SHOWN_LABELS:
        return pairs
    return sorted(pairs, key=lambda pair: -pair[1])[:SHOWN_LABELS]


SELECTS, COLLAPSES = "†", "‡"  # footnotes: predicts from its rationale alone; gives one answer to all
EMPTY = "the empty text (nothing but [CLS], [SEP] and what is never selected)"
COLLAPSED = (
    f"{COLLAPSES} Collapsed: gives one answer to (nearly) every text; its Comp, Suff and CSD mean nothing."
)


def collapse_warning(who: str, found: Collapse) -> str:
    """That a classifier has collapsed to a constant, and why its faithfulness then means nothing."""
    return (
        f"{who} answers {answer(found)}: its accuracy is that of this one answer. Comp and Suff of such a "
        "classifier are near 0 whatever its rationales are, and NRG rewards that, as a Suff of 0 is the best "
        "there is."
    )


def answer(found: Collapse) -> str:
    """Which answer, and to how many texts.

    >>> answer(Collapse("neg", 1.0)), answer(Collapse("B", 0.996)), answer(Collapse("B", 0.9999))
    ("'neg' to every text", "'B' to 99.6 % of the texts", "'B' to more than 99.9 % of the texts")
    """
    if found.share == 1:
        return f"'{found.label}' to every text"
    share = "more than 99.9" if found.share > 0.999 else f"{100 * found.share:.1f}"
    return f"'{found.label}' to {share} % of the texts"


def completeness_note(error: float) -> str:
    """How far attributions are from adding up to what they explain."""
    return (
        f"completeness error {error:.3g}: mean |sum of the scores - (logit of the text - of the baseline)|."
    )


def select_predict_note(who: str, raw: float, budgets: int, read: float) -> str:
    """That a system predicts from its rationale alone, and what its faithfulness then is (SPEC A11, D-5)."""
    mean, what = ("", "it") if budgets == 1 else (f", the mean over {budgets} budgets", "their sum")
    return (
        f"{who} predicts from its rationale alone, {100 * read:.1f} % of the tokens: sufficiency is 0 by "
        f"construction. Comprehensiveness is against {EMPTY}: {raw:.3f} raw{mean}; the AOPC above divides "
        f"{what} by K + 1 = {budgets + 1}, as the paper did."
    )
