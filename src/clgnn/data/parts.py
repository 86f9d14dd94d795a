"""Which rows of a table of nodes are for training, for validation and for the test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from clgnn.data.graph import known
from clgnn.data.reading import column

PARTS = {
    "train": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "test": "test",
    "observed": "observed",
    "": "",
}


def split_parts(nodes: pd.DataFrame, split: str) -> pd.Series[Any]:
    """A split column as ``train``, ``val``, ``test``, ``observed`` or a blank.

    Example:
        >>> split_parts(pd.DataFrame({"part": ["Train", "valid", None]}), "part").tolist()
        ['train', 'val', '']
    """
    values = column(nodes, split, "nodes", "--split")
    texts = values.where(values.notna(), "").astype(str).str.strip().str.lower()
    wrong = sorted(set(texts) - set(PARTS))
    if wrong:
        raise ValueError(
            f"the split column {split!r} has {wrong[0]!r}; expected train, val, test, observed or a blank"
        )
    return texts.map(PARTS)


def split_masks(y: Tensor, nodes: pd.DataFrame, split: str) -> tuple[Tensor, Tensor, Tensor | None]:
    """The nodes with a known label that a split column gives to training, validation and observation.

    Each is a bool mask ``[N]``; the last is None if no row says observed.
    """
    parts = split_parts(nodes, split).to_numpy()
    names = ("train", "val", "observed")
    train, val, observed = (known(y) & torch.from_numpy(parts == part) for part in names)
    if not bool(train.any()):
        said = "no row says train" if not (parts == "train").any() else "no row that says train has a label"
        raise ValueError(f"the split column {split!r} leaves nothing to learn from: {said}")
    return train, val, observed if bool(observed.any()) else None


def hold_out(y: Tensor, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Training and validation masks over the known labels: ``share`` of each class, but never all.

    Args:
        y: the labels ``[N]``.
        share: of the known labels that validate.
        seed: the same seed gives the same masks.

    Returns:
        Two bool masks ``[N]``.

    Example:
        >>> train, val = hold_out(torch.tensor([0, 0, 0, 0, 1, 1, -1]), 0.5, seed=0)
        >>> int(train.sum()), int(val.sum()), bool((train & val).any())
        (3, 3, False)
    """
    generator = np.random.default_rng(seed)
    labels = known(y).nonzero().squeeze(1).numpy()
    groups = [labels]
    if not y.is_floating_point():
        classes = y[labels].numpy()
        groups = [labels[classes == c] for c in np.unique(classes)]
    validation = torch.zeros(len(y), dtype=torch.bool)
    for nodes in groups:
        count = min(round(share * len(nodes)), len(nodes) - 1)
        validation[generator.permutation(nodes)[:count]] = True
    return known(y) & ~validation, validation
