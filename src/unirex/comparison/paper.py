"""The published row beside a method of a comparison, and what not to read into it."""

from __future__ import annotations

from unirex import published
from unirex.comparison.method import Method
from unirex.published import Published

BUDGETS, REMOVAL = (1.0, 5.0, 10.0, 20.0, 50.0), "delete"


def printed_row(method: Method, dataset: str) -> Published | None:
    """What the paper prints for this method; None if it has no such row."""
    place = method.runs[0].place
    name = str(place.settings.get("method") or method.name).lower()
    own = place.settings.get("extractor")
    used = (place.saved.get("settings") or {}).get("extractor", own)
    if used != own and name != "vanilla" and not name.startswith("aa-"):
        return None  # explained by another than its own extractor
    return published.published_row(dataset, name, used)


def other_rows(dataset: str, shown: set[str]) -> list[Published]:
    """The printed rows that no method of the comparison has beside it."""
    return [row for name, row in published.results(dataset).items() if name not in shown]


def remarks(method: Method, dataset: str) -> list[str]:
    """What must be known before a number is held against the printed one."""
    run, found = method.runs[0], []
    if run.place.data is not None and _plain(run.place.data) != _plain(dataset):
        found.append(f"These texts are of '{run.place.data}', not {dataset.upper()}: the paper's are others.")
    if run.budgets not in ((), BUDGETS) and not run.select_predict:  # of these the paper has one budget too
        found.append(
            "These budgets are not the paper's (1, 5, 10, 20 and 50 %): do not compare Comp and Suff."
        )
    if run.removal not in (None, REMOVAL):
        found.append(
            f"Tokens were removed by {run.removal}, not deleted as in the paper: "
            "do not compare Comp and Suff."
        )
    return found + [f"Paper: {caveat}" for caveat in published.caveats(dataset)]


def _plain(name: str) -> str:
    """A dataset's name without the signs that people write it with.

    >>> _plain("e-SNLI")
    'esnli'
    """
    return "".join(sign for sign in name.lower() if sign.isalnum())


def performance_of(dataset: str) -> str:
    """What the paper measures performance by."""
    published.results(dataset)  # an unknown dataset is named
    return published.PERFORMANCE[dataset]
