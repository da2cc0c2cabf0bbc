"""Standard notes and warnings printed with tables."""

from __future__ import annotations

from unirex.data.example import answer_name
from unirex.metrics.performance import Collapse

SELECTS, COLLAPSES = "†", "‡"  # footnotes: predicts from its rationale alone; gives one answer to all
EMPTY = "the empty text (nothing but [CLS], [SEP] and what is never selected)"
COLLAPSED = (
    f"{COLLAPSES} Collapsed: gives one answer to (nearly) every text; its Comp, Suff and CSD mean nothing."
)


def collapse_warning(name: str, collapse: Collapse) -> str:
    """Warning that a classifier has collapsed to a constant and its faithfulness means nothing."""
    return (
        f"{name} answers {constant_answer(collapse)}: its accuracy is that of this one answer. Comp and Suff "
        "of such a classifier are near 0 whatever its rationales are, and NRG rewards that, as a Suff of 0 "
        "is the best there is."
    )


def constant_answer(collapse: Collapse) -> str:
    """The answer of a collapsed classifier, and its share of the texts.

    >>> constant_answer(Collapse("neg", 1.0)), constant_answer(Collapse("B", 0.996))
    ("'neg' to every text", "'B' to 99.6 % of the texts")
    >>> constant_answer(Collapse("B", 0.9999))
    "'B' to more than 99.9 % of the texts"
    """
    if collapse.share == 1:
        return f"'{answer_name(collapse.label)}' to every text"
    share = "more than 99.9" if collapse.share > 0.999 else f"{100 * collapse.share:.1f}"
    return f"'{answer_name(collapse.label)}' to {share} % of the texts"


def completeness_note(error: float) -> str:
    """How far attributions are from adding up to what they explain."""
    return (
        f"completeness error {error:.3g}: mean |sum of the scores - (logit of the text - of the baseline)|."
    )


def select_predict_note(name: str, raw: float, budgets: int, read: float) -> str:
    """Note on a system that predicts from its rationale alone (spec/known-errors.md#d-5)."""
    mean, what = ("", "it") if budgets == 1 else (f", the mean over {budgets} budgets", "their sum")
    return (
        f"{name} predicts from its rationale alone, {100 * read:.1f} % of the tokens: sufficiency is 0 by "
        f"construction. Comprehensiveness is against {EMPTY}: {raw:.3f} raw{mean}; the AOPC above divides "
        f"{what} by K + 1 = {budgets + 1}, as the paper did."
    )
