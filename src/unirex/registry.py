"""Names to things: one small table per kind, imported only when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from unirex.errors import unknown


@dataclass
class Registry(Mapping[str, Any]):
    """Things of one kind by name; each is `module:attribute` and loaded on first use.

    >>> shapes = Registry("shape", {"ordered": "collections:OrderedDict"})
    >>> shapes["ordered"].__name__
    'OrderedDict'
    >>> shapes["orderd"]
    Traceback (most recent call last):
    ...
    unirex.errors.UserError: unknown shape 'orderd'; did you mean 'ordered'? Known: ordered.
    """

    kind: str
    places: dict[str, str] = field(default_factory=dict)
    loaded: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise unknown(self.kind, name, self)
        if name not in self.loaded:
            module, _, attribute = self.places[name].partition(":")
            self.loaded[name] = getattr(import_module(module), attribute)
        return self.loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self.places or name in self.loaded

    def __iter__(self) -> Iterator[str]:
        return iter({**self.places, **self.loaded})

    def __len__(self) -> int:
        return len({**self.places, **self.loaded})
