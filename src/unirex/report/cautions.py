"""What a table must say beside its numbers, lest they mislead: the same words in every report."""

from __future__ import annotations

from unirex.metrics.performance import Collapse

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
