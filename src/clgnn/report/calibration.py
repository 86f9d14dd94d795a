"""Reliability over several trials."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def pooled(tables: Iterable[Any]) -> dict[str, list[Any]] | None:
    """Adds up the bins of several :func:`clgnn.estimators.metrics.reliability`.

    Args:
        tables: the bins of each trial; what is no table, or an empty one, is left out.

    Returns:
        The mean ``confidence`` and ``accuracy`` of each bin over all nodes in it, None where it has none,
        and their ``count``. None if there is no table.

    Example:
        >>> one = {"confidence": [0.25, 0.8], "accuracy": [0.0, 0.5], "count": [1, 2]}
        >>> pooled([one, {"confidence": [None, 0.6], "accuracy": [None, 1.0], "count": [0, 2]}])
        {'confidence': [0.25, 0.7], 'accuracy': [0.0, 0.75], 'count': [1, 4]}
    """
    found = [table for table in tables if isinstance(table, dict) and table.get("count")]
    if not found:
        return None
    count = np.array([table["count"] for table in found], dtype=float)
    total = count.sum(axis=0)

    def mean(name: str) -> list[float | None]:
        values = np.array([table[name] for table in found], dtype=float)
        sums = (np.nan_to_num(values) * count).sum(axis=0)  # an empty bin has no value
        return [float(round(s / n, 6)) if n else None for s, n in zip(sums, total, strict=True)]

    return {"confidence": mean("confidence"), "accuracy": mean("accuracy"), "count": [int(n) for n in total]}
