"""Which rows of a table of nodes are for training, for validation and for the test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from clgnn.data.graph import Graphs, as_list, by_graph, known
from clgnn.data.reading import Columns, column
from clgnn.data.splits import Split

PARTS = {
    "train": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "test": "test",
    "observed": "observed",
    "": "",
}


def split_parts(nodes: Columns, split: str) -> pd.Series[Any]:
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


def split_masks(y: Tensor, nodes: Columns, split: str) -> tuple[Tensor, Tensor, Tensor | None]:
    """The nodes with a known label that a split column gives to training, validation and observation.

    Each is a bool mask ``[N]``. Those of training are observed too, as they are when the model predicts on
    this graph; the last mask is None if no row says observed.

    Example:
        >>> nodes = pd.DataFrame({"part": ["train", "val", "test", "observed"]})
        >>> split_masks(torch.tensor([0, 1, 1, 0]), nodes, "part")[2]
        tensor([ True, False, False,  True])
    """
    parts = split_parts(nodes, split).to_numpy()
    names = ("train", "val", "observed")
    train, val, observed = (known(y) & torch.from_numpy(parts == part) for part in names)
    if not bool(train.any()):
        said = "no row says train" if not (parts == "train").any() else "no row that says train has a label"
        raise ValueError(f"the split column {split!r} leaves nothing to learn from: {said}")
    return train, val, train | observed if bool(observed.any()) else None


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


def stratified(
    data: Graphs,
    test_share: float = 0.2,
    val_share: float = 0.2,
    seed: int = 0,
    train_labels: int | None = None,
) -> Split[Any]:
    """A random split of the known labels that keeps the shares of the classes.

    The labels to learn from are also those that are shown when the test nodes are predicted: it is one graph
    with some labels, or several, and all labels but those of the judged nodes are known.

    Args:
        data: a graph with ``y`` ``[N]``, or several.
        test_share: of the known labels of each class that are judged.
        val_share: of the known labels of each class that choose the epoch and the like.
        seed: the same seed gives the same split.
        train_labels: about how many labels to learn from, at least one of each class; all others by default.

    Raises:
        ValueError: if nothing is left to learn from, or to judge.

    Example:
        >>> from torch_geometric.data import Data
        >>> split = stratified(Data(y=torch.tensor([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, -1])))
        >>> split.train_mask.sum(), split.val_mask.sum(), split.test_mask.sum()
        (tensor(6), tensor(2), tensor(2))
    """
    if not (0 < test_share < 1 and 0 < val_share < 1 and test_share + val_share < 1):
        raise ValueError(
            f"test_share is {test_share} and val_share is {val_share}; expected shares above 0 that leave "
            "some labels to learn from"
        )
    y = torch.cat([graph.y for graph in as_list(data)])
    rest, test = hold_out(y, test_share, seed)
    nothing = torch.nan if y.is_floating_point() else -1
    train, val = hold_out(torch.where(rest, y, nothing), val_share / (1 - test_share), seed)
    if train_labels is not None:
        if not 0 < train_labels <= int(train.sum()):
            raise ValueError(
                f"train_labels is {train_labels}; expected 1 to {int(train.sum())}, which test_share and "
                "val_share leave"
            )
        train, _ = hold_out(torch.where(train, y, nothing), 1 - train_labels / int(train.sum()), seed)
    for name, mask in (("train", train), ("val", val), ("test", test)):
        if not bool(mask.any()):
            raise ValueError(
                f"{int(known(y).sum())} known labels leave none for {name}; expected more labels, or another "
                f"test_share (now {test_share}) and val_share ({val_share})"
            )
    parts = [by_graph(mask, data) for mask in (train, val, test)]
    return Split(parts[0], parts[0], parts[1], parts[2], parts[0])


def column_split(y: Tensor, nodes: pd.DataFrame, split: str) -> Split[Tensor]:
    """The split of a column that says train, val, test and observed.

    The labels of train and of observed are shown when the test nodes are predicted.

    Raises:
        ValueError: if no row with a label says train, or none says test.

    Example:
        >>> nodes = pd.DataFrame({"part": ["train", "val", "test", "observed"]})
        >>> column_split(torch.tensor([0, 1, 1, 0]), nodes, "part").observed_mask
        tensor([ True, False, False,  True])
    """
    train, val, observed = split_masks(y, nodes, split)
    test = known(y) & torch.from_numpy(split_parts(nodes, split).to_numpy() == "test")
    if not bool(test.any()):
        raise ValueError(f"the split column {split!r} leaves nothing to judge: no row with a label says test")
    shown = train if observed is None else observed
    return Split(train, shown, val, test, shown)
