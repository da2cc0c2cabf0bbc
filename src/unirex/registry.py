"""Lazy name-to-object registries, and registration of our models with transformers."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from unirex.errors import unknown

PIPELINES = "transformers.pipelines"  # importing it triggers our registration


@dataclass
class Registry(Mapping[str, Any]):
    """Objects of one kind by name; each is given as `module:attribute` and imported on first use.

    >>> shapes = Registry("shape", {"ordered": "collections:OrderedDict"})
    >>> shapes["ordered"].__name__
    'OrderedDict'
    >>> shapes["orderd"]
    Traceback (most recent call last):
    ...
    unirex.errors.UserError: unknown shape 'orderd'; did you mean 'ordered'? Known: ordered.
    """

    kind: str
    sources: dict[str, str] = field(default_factory=dict)
    loaded: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise unknown(self.kind, name, self)
        if name not in self.loaded:
            self.loaded[name] = late(self.sources[name])
        return self.loaded[name]

    def about(self, name: str) -> str:
        """The first line of an object's docstring, read from its source: importing it may take seconds."""
        if name not in self.sources:
            return _first_line(self[name].__doc__)
        module, _, attribute = self.sources[name].partition(":")
        source = find_spec(module)
        tree = ast.parse(Path(str(source and source.origin)).read_text("utf-8"))
        defined = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        return _first_line(ast.get_docstring(defined[attribute]))

    def __contains__(self, name: object) -> bool:
        return name in self.sources or name in self.loaded

    def __iter__(self) -> Iterator[str]:
        return iter({**self.sources, **self.loaded})

    def __len__(self) -> int:
        return len({**self.sources, **self.loaded})


def late(place: str) -> Any:
    """The object at `module:attribute`, imported now.

    For names of registries, and for views of an object that are defined further down the line of imports.
    """
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def _first_line(docstring: str | None) -> str:
    return (docstring or "").strip().split("\n")[0]


def register_with_transformers() -> None:
    """Register our Auto classes and pipeline: now if transformers is imported, else as soon as it is.

    So `import unirex` stays light, and the order of the two imports does not matter.
    """
    if PIPELINES in sys.modules:
        import_module("unirex.pipeline")
    elif not any(isinstance(finder, _PipelinesFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _PipelinesFinder())


class _PipelinesFinder(MetaPathFinder):
    """Import hook that wraps the loader of transformers' pipelines, once, and removes itself."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != PIPELINES:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _RegisteringLoader(spec.loader)
        return spec


class _RegisteringLoader(Loader):
    """Loads a module with its own loader, then imports `unirex.pipeline`, which registers."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:  # reloading or inspecting it later finds its real loader
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        import_module("unirex.pipeline")
