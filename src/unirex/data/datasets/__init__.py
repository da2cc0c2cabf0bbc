"""The public datasets, one file each: `load(folder) -> Splits`, and what is known of the data in `INFO`."""
