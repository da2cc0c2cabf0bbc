"""The documents that a line of a submission speaks of, found in the segments of its example."""

from __future__ import annotations

from dataclasses import dataclass

from unirex.data.eraser.documents import Document
from unirex.data.example import Example
from unirex.eraser.gold import Gold
from unirex.eraser.instances import DocumentRationale, Instance
from unirex.eraser.outside import Token
from unirex.eraser.words import EraserWords, Words, document_words, own_words
from unirex.errors import UserError


@dataclass(frozen=True, slots=True)
class LineDocuments:
    """The documents of a line, found in the segments of its example."""

    instance: Instance
    example: Example
    gold: Gold | None

    def tokens(self) -> tuple[tuple[Token, ...] | None, tuple[float, ...], tuple[int, ...] | None]:
        """The words, their scores and those selected; the words of a marked document that is missing too."""
        placed = self._placed()
        entries = [entry for _, entry in placed if entry is not None]
        soft = [entry.soft for entry in entries if entry.soft is not None]
        if soft and len(soft) < len(entries):
            raise UserError("soft_rationale_predictions for some documents but not all; give all or none")
        if not placed or (not soft and all(entry.hard is None for entry in entries)):
            return None, (), None
        unread = min([0.0, *(score for scores in soft for score in scores)])
        tokens, scores, chosen = list[Token](), list[float](), list[int]()
        for words, entry in placed:
            chosen += [len(tokens) + number for number in _hard(entry, len(words))]
            scores += entry.soft if entry and entry.soft is not None else [unread] * len(words)
            places = zip(words.starts.tolist(), words.ends.tolist(), strict=True)
            tokens += [(words.segment, start, end) for start, end in places]
        selects = any(entry.hard is not None for entry in entries)
        return tuple(tokens), tuple(scores) if soft else (), tuple(chosen) if selects else None

    def _placed(self) -> list[tuple[Words, DocumentRationale | None]]:
        """Each document of the line with its words, and those that only people said something of."""
        found = self._by_name() if self.gold is None else self._by_text(EraserWords(self.gold))
        marked = self.example.rationale or ()
        there = {words.segment for words, _ in found}
        for segment, text in enumerate(self.example.segments):
            if segment not in there and segment < len(marked) and marked[segment]:
                found.append((document_words("", segment, Document.of(text)), None))
        return sorted(found, key=lambda one: (one[0].segment, one[0].starts[0]))

    def _by_text(self, locate: EraserWords) -> list[tuple[Words, DocumentRationale | None]]:
        entries = {entry.docid: entry for entry in self.instance.rationales}
        words = {one.docid: one for one in locate(self.example.id, self.example.segments)}
        for docid in entries:
            if docid not in words:
                raise UserError(f"document '{docid}' is none of annotation '{self.example.id}'")
        spans = self.example.rationale or ((),) * len(self.example.segments)
        missing = [one for docid, one in words.items() if docid not in entries]
        marked = [one for one in missing if len(one) and one.marked(spans[one.segment]).any()]
        said = [(_fitting(words[docid], entry), entry) for docid, entry in entries.items()]
        return [*said, *((one, None) for one in marked)]

    def _by_name(self) -> list[tuple[Words, DocumentRationale | None]]:
        left = dict(enumerate(self.example.segments))
        places: dict[str, int] = {}
        for entry in self.instance.rationales:
            segment = _segment(entry.docid, self.example)
            if segment in left:
                places[entry.docid] = segment
                del left[segment]
        for entry in self.instance.rationales:
            if entry.docid not in places:
                if not left:
                    raise UserError(f"document '{entry.docid}' is no segment of example '{self.example.id}'")
                places[entry.docid] = min(left)
                del left[places[entry.docid]]
        return [(self._counted(entry, places[entry.docid]), entry) for entry in self.instance.rationales]

    def _counted(self, entry: DocumentRationale, segment: int) -> Words:
        """The words of a segment, counted as the entry counts them."""
        text = self.example.segments[segment]
        ways = [document_words(entry.docid, segment, Document.of(text))]
        ways += [one for one in own_words(self.example.id, self.example.segments) if one.segment == segment]
        if entry.soft is None:
            if len({len(one) for one in ways}) > 1:
                counts = " or ".join(str(len(one)) for one in ways)
                raise UserError(
                    f"document '{entry.docid}' can be counted as {counts} tokens; give the data it is from"
                )
            return ways[0]
        fitting = [one for one in ways if len(one) == len(entry.soft)]
        return fitting[0] if fitting else _fitting(ways[0], entry)


def _segment(docid: str, example: Example) -> int | None:
    """The segment that a document's id tells of: as `own_words` and e-SNLI have them."""
    names = {example.id: 0, f"{example.id}_premise": 0, f"{example.id}_hypothesis": 1}
    names |= {f"{example.id}_{number}": number for number in range(len(example.segments))}
    return names.get(docid)


def _fitting(words: Words, entry: DocumentRationale) -> Words:
    if entry.soft is not None and len(entry.soft) != len(words):
        raise UserError(
            f"document '{entry.docid}' has {len(words)} tokens, but soft_rationale_predictions "
            f"has {len(entry.soft)}"
        )
    return words


def _hard(entry: DocumentRationale | None, length: int) -> list[int]:
    """The numbers of the words that hard spans select."""
    numbers: set[int] = set()
    for start, end in (entry.hard or ()) if entry else ():
        if entry is not None and not 0 <= start < end <= length:
            raise UserError(
                f"document '{entry.docid}': span {start} to {end} is not inside its {length} tokens"
            )
        numbers.update(range(start, end))
    return sorted(numbers)
