"""Cora and Pubmed: the Planetoid pickles."""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from clgnn.data.datasets import pickles
from clgnn.data.datasets.edges import undirected
from clgnn.data.datasets.errors import unreadable
from clgnn.data.datasets.prepare import row_normalise
from clgnn.data.sparse import torch_csr


def parse(files: Mapping[str, Path]) -> dict[str, Tensor]:
    """The graph of ``ind.NAME.{allx,ally,tx,ty,graph,test.index}``; x and y are parts of allx and ally.

    The rows of tx belong to the nodes that test.index lists, in its order; those of allx to the nodes from 0.
    """
    part = {name.split(".", 2)[2]: path for name, path in files.items()}
    try:
        index = np.loadtxt(part["test.index"], dtype=np.int64, ndmin=1)
    except ValueError as error:
        raise unreadable(part["test.index"], error, "the number of a node in each line") from error
    allx, ally, tx, ty, graph = (pickles.load(part[name]) for name in ("allx", "ally", "tx", "ty", "graph"))
    node = np.concatenate([np.arange(allx.shape[0]), index])
    if not np.array_equal(np.sort(node), np.arange(len(graph))):
        problem = f"it has {len(graph)} nodes, allx {allx.shape[0]} and test.index {len(index)} others"
        raise unreadable(part["graph"], problem, "that they add up")
    order = np.argsort(node)
    words = sp.csr_array(sp.vstack([allx, tx]))[order]
    words.sum_duplicates()
    ends = list(chain.from_iterable(graph.values()))
    starts = np.repeat(list(graph), [len(near) for near in graph.values()])
    return {
        "x": torch_csr(words),
        "y": torch.from_numpy(np.concatenate([ally, ty])[order].argmax(axis=1)),
        "edge_index": undirected((starts, ends), len(graph), part["graph"]),
    }


def build(tensors: dict[str, Tensor], prepare: bool = True) -> Data:
    """``x`` [N, p] sparse CSR, row-normalised by ``prepare``."""
    x = tensors["x"]
    return Data(x=row_normalise(x) if prepare else x, edge_index=tensors["edge_index"], y=tensors["y"])
