"""The few sentences that every report says in the same words."""

from __future__ import annotations

from unirex.data.example import Label, choice_label
from unirex.explanation import Explanation

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
