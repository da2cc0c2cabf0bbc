"""Methods side by side: one table with intervals and tests, figures, and a page to browse.

```python
found = unirex.compare(["runs/slm-fp", "runs/vanilla"], paper="sst")
print(found.table())
```
"""

from unirex.comparison.build import compare
from unirex.comparison.comparison import Comparison
from unirex.comparison.method import Method
from unirex.comparison.significance import Difference

__all__ = ["Comparison", "Difference", "Method", "compare"]
