"""What a system does overall: the words and phrases that carry each label, over many explanations.

```python
overview = unirex.summarise(system, data["test"])
print(overview.table())
```
"""

from unirex.overview.overview import Overview, summarise

__all__ = ["Overview", "summarise"]
