"""Datasets: known by name, or read from the user's own files."""

from __future__ import annotations

from unirex.data.catalogue import DATASETS
from unirex.data.example import DatasetInfo, Example, Splits
from unirex.data.formats import FORMATS
from unirex.data.load import load_dataset, load_records, stream_records

__all__ = [
    "DATASETS",
    "FORMATS",
    "DatasetInfo",
    "Example",
    "Splits",
    "load_dataset",
    "load_records",
    "stream_records",
]
