"""Names for annotations in modules that must stay light to import.

The objectives are also the command line's options, and the library that parses those runs the
`if TYPE_CHECKING` blocks of the modules it reads. So these names are imported for type checkers here, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from unirex.step import Step
else:
    Step = Tensor = Any

__all__ = ["Step", "Tensor"]
