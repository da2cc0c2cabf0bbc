"""unirex: text classifiers that show their reasons.

```python
import unirex

data = unirex.load_dataset("demo")
system = unirex.fit("slm-fp", data, encoder="minilm")
print(unirex.evaluate(system, data["test"]).table())
print(system.explain("a gorgeous , witty , seductive film .").spans)
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from unirex.registry import register_with_transformers

if TYPE_CHECKING:
    from unirex.comparison import Comparison, compare
    from unirex.data import load_dataset
    from unirex.data.example import DatasetInfo, Example, Splits
    from unirex.errors import UserError
    from unirex.estimator import RationaleClassifier as RationaleClassifier
    from unirex.evaluation import Results, evaluate
    from unirex.explanation import Explanation
    from unirex.methods import fit
    from unirex.overview import Overview, summarise
    from unirex.system import System, load

__version__ = "0.1.0.dev0"

# Nothing heavy is imported before it is used: `import unirex` and `unirex --help` answer at once.
_PLACES = {
    "Comparison": "unirex.comparison",
    "DatasetInfo": "unirex.data.example",
    "Example": "unirex.data.example",
    "Explanation": "unirex.explanation",
    "Overview": "unirex.overview",
    "RationaleClassifier": "unirex.estimator",
    "Results": "unirex.evaluation",
    "Splits": "unirex.data.example",
    "System": "unirex.system",
    "UserError": "unirex.errors",
    "compare": "unirex.comparison",
    "evaluate": "unirex.evaluation",
    "fit": "unirex.methods",
    "load": "unirex.system",
    "load_dataset": "unirex.data",
    "summarise": "unirex.overview",
}

__all__ = [  # without RationaleClassifier, which needs scikit-learn: `from unirex import *` must not
    "Comparison",
    "DatasetInfo",
    "Example",
    "Explanation",
    "Overview",
    "Results",
    "Splits",
    "System",
    "UserError",
    "compare",
    "evaluate",
    "fit",
    "load",
    "load_dataset",
    "summarise",
]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'unirex' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(_PLACES)


register_with_transformers()
