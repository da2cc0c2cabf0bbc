"""Reads a page back the way a browser would: its elements and the text inside them."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"input", "meta"}


class Page(HTMLParser):
    """The elements of a page in order: tag, attributes and all the text inside."""

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(html)
        self.close()
        assert not self._open, "an element is never closed"

    def handle_starttag(self, tag, attrs):
        element = (tag, dict(attrs), [])
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        for _, _, texts in self._open:
            texts.append(data)

    @property
    def harmless(self) -> bool:
        """No script, no image, no attribute that runs code."""
        names = {name for _, attributes, _ in self.elements for name in attributes}
        tags = {tag for tag, _, _ in self.elements}
        return not tags & {"script", "img"} and not any(name.startswith("on") for name in names)

    def texts(self, tag: str, class_: str | None = None) -> list[str]:
        """The text of each element of this kind."""
        return [
            "".join(texts)
            for name, attributes, texts in self.elements
            if name == tag and (class_ is None or class_ in (attributes.get("class") or "").split())
        ]
