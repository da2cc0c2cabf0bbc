"""Methods side by side: one table with intervals and tests, figures, and a page to browse.

```python
comparison = unirex.compare(["runs/slm-fp", "runs/vanilla"], paper="sst")
print(comparison.table())
```
"""

from unirex.comparison.comparison import Comparison, compare
from unirex.comparison.method import Method
from unirex.comparison.significance import Difference

__all__ = ["Comparison", "Difference", "Method", "compare"]
