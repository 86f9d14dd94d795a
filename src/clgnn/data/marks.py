"""Marks by which nodes of a table are known again: hashes of their ids and features."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from clgnn.data.ids import id_texts


def marks(ids: pd.Series[Any], x: Tensor) -> list[str]:
    """One mark for each node, from its id and its row of x ``[N, p]``.

    A node of another graph that happens to have the same id has other features, and so another mark.

    Example:
        >>> one, other = marks(pd.Series(["7", "7"], name="id"), torch.tensor([[1.0], [2.0]]))
        >>> one == other, len(one)
        (False, 16)
    """
    found = []
    for name, row in zip(id_texts(ids), _rows(x), strict=True):
        found.append(hashlib.blake2b(name.encode() + b"\0" + row, digest_size=8).hexdigest())
    return found


def _rows(x: Tensor) -> list[bytes]:
    if x.layout == torch.strided:
        return [row.tobytes() for row in x.cpu().numpy()]
    ends, columns, values = (part.cpu().numpy() for part in (x.crow_indices(), x.col_indices(), x.values()))
    return [columns[a:b].tobytes() + values[a:b].tobytes() for a, b in pairwise(ends)]
