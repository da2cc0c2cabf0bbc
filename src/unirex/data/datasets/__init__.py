"""The public datasets, one module each, with `load(folder) -> Splits`, `INFO` and `FOLDERS`."""
