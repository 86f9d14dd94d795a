"""CSL: circular skip links, 150 regular graphs in 10 classes that no message-passing GNN tells apart."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from clgnn.data.datasets import pickles
from clgnn.data.datasets.edges import undirected
from clgnn.data.datasets.errors import unreadable

NODES, CLASSES = 41, 10


def parse(files: Mapping[str, Path]) -> dict[str, Tensor]:
    """The adjacency matrices, without the self-loops that the file adds; the classes follow one another."""
    (path,) = files.values()
    matrices = pickles.load(path)
    if len(matrices) % CLASSES or any(matrix.shape != (NODES, NODES) for matrix in matrices):
        raise unreadable(
            path, f"it has {len(matrices)} matrices", f"a multiple of {CLASSES}, {NODES} x {NODES}"
        )
    edges = [undirected(matrix.nonzero(), NODES, path) for matrix in matrices]
    return {
        "edge_index": torch.cat(edges, dim=1),
        "size": torch.tensor([part.shape[1] for part in edges]),
        "y": torch.from_numpy(np.repeat(np.arange(CLASSES), len(matrices) // CLASSES)),
    }


def build(tensors: dict[str, Tensor], prepare: bool = True) -> list[Data]:
    """150 graphs with a constant feature ``x`` [41, 1] and the class of the graph, ``y`` [1]."""
    edges = torch.split(tensors["edge_index"], tensors["size"].tolist(), dim=1)
    return [
        Data(x=torch.ones(NODES, 1), edge_index=edge_index.contiguous(), y=y)
        for edge_index, y in zip(edges, torch.split(tensors["y"], 1), strict=True)
    ]
