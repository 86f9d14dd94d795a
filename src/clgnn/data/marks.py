"""Marks by which nodes of a table are known again: hashes of their ids and features."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from clgnn.data.ids import id_texts


def marks(ids: pd.Series[Any], x: Tensor, nodes: NDArray[np.int64] | None = None) -> list[str]:
    """One mark for each node, or for some of them, from its id and its row of x ``[N, p]``.

    A node of another graph that happens to have the same id has other features, and so another mark.

    Example:
        >>> one, other = marks(pd.Series(["7", "7"], name="id"), torch.tensor([[1.0], [2.0]]))
        >>> one == other, len(one)
        (False, 16)
    """
    names = id_texts(ids)
    places = range(len(names)) if nodes is None else nodes.tolist()
    keys = (names[i].encode() + b"\0" + row for i, row in zip(places, _rows(x, places), strict=True))
    return [hashlib.blake2b(key, digest_size=8).hexdigest() for key in keys]


def _rows(x: Tensor, places: Sequence[int]) -> Iterator[bytes]:
    """The bytes of some rows of x."""
    if x.layout == torch.strided:
        values = x.cpu().numpy()
        return (values[i].tobytes() for i in places)
    ends, columns, values = (part.cpu().numpy() for part in (x.crow_indices(), x.col_indices(), x.values()))
    spans = (slice(ends[i], ends[i + 1]) for i in places)
    return (columns[span].tobytes() + values[span].tobytes() for span in spans)
