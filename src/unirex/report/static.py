"""An example with the answers of all methods as plain HTML: what `browser.js` draws, without a script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from unirex.data.example import choice_label
from unirex.report.markup import Html, element
from unirex.report.notes import percent
from unirex.report.page import boxed
from unirex.report.shown import Answer, Shown

Look = tuple[int, int, str, str]  # start, end, tag, class


def card(at: int, example: Shown, methods: Sequence[str]) -> Html:
    """One text: its gold label and marks, then what each method says."""
    title = element("h3", f"Text {at}", element("span", example.id, class_="id"), class_="card-title")
    views = [_view(name, example, example.answers.get(name)) for name in methods]
    return element("article", title, _gold(example), element("div", *views, class_="grid"), class_="card")


def _gold(example: Shown) -> Html:
    parts = []
    if example.label is not None:
        chip = _chip(example, example.label, "chip gold-chip")
        parts.append(element("p", chip, _muted("gold label"), class_="verdict"))
    if example.gold:
        looks = [(at, (start, end, "span", "gold-mark")) for at, start, end in example.gold]
        parts.append(_passage(example.segments, looks))
    return element("section", *parts, class_="gold") if parts else Html("")


def _view(name: str, example: Shown, answer: Answer | None) -> Html:
    title = element("h4", name, dir="auto")
    if answer is None:
        return element("section", title, _muted("Nothing is known of this text."), class_="view")
    looks = [
        (at, (start, end, "mark" if selected else "span", f"s{level}" if level else ""))
        for at, start, end, level, selected in answer.words
        if level or selected
    ]
    text = _passage(example.texts(answer), looks)
    return element("section", title, _verdict(example, answer), text, class_="view")


def _verdict(example: Shown, answer: Answer) -> Html:
    if answer.predicted is None:
        return element("p", _muted("no prediction"), class_="verdict")
    parts = [_chip(example, answer.predicted, "chip")]
    if example.label is not None:
        right = answer.predicted == example.label
        says, class_ = ("✓ correct", "right") if right else ("✗ wrong", "wrong")
        parts.append(element("span", says, class_=class_))
    if answer.confidence is not None:
        parts.append(_muted(percent(answer.confidence)))
    return element("p", *parts, class_="verdict")


def _chip(example: Shown, label: str, class_: str) -> Html:
    named = {choice_label(at): text for at, text in enumerate(example.choices or ())}
    says = f"{label} · {named[label]}" if label in named else label
    return element("span", says, class_=class_, dir="auto")


def _muted(text: str) -> Html:
    return element("span", text, class_="muted")


def _passage(segments: Iterable[str], looks: Sequence[tuple[int, Look]]) -> Html:
    return boxed(
        element(
            "p", *_marked(text, sorted(look for of, look in looks if of == at)), class_="text", dir="auto"
        )
        for at, text in enumerate(segments)
    )


def _marked(text: str, looks: Iterable[Look]) -> Iterator[str]:
    """The text with its marks; one that overlaps an earlier is left out."""
    done = 0
    for start, end, tag, class_ in looks:
        if start >= done:
            yield from (text[done:start], element(tag, text[start:end], class_=class_ or None))
            done = end
    yield text[done:]
