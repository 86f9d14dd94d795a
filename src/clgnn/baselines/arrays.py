"""A graph as numpy and scipy arrays, for the classifiers that are not neural."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from clgnn.data.graph import Graph
from clgnn.data.sparse import scipy_csr

Floats: TypeAlias = NDArray[np.floating[Any]]
Features: TypeAlias = Floats | sp.csr_array


def features(graph: Graph) -> Features:
    """X ``[N, p]``, dense or sparse as it came."""
    x = graph.x.cpu()
    if x.layout == torch.strided:
        return np.asarray(x.numpy())
    return scipy_csr(x, index=np.int32)  # scikit-learn wants 32-bit indices


def adjacency(graph: Graph) -> sp.csr_array:
    """A ``[N, N]``: row v has the weight of each edge u → v; a node is no neighbour of itself.

    Example:
        >>> import torch
        >>> graph = Graph(torch.ones(3, 1), torch.tensor([[0, 1, 1], [1, 1, 2]]), None, (3,))
        >>> adjacency(graph).toarray()
        array([[0., 0., 0.],
               [1., 0., 0.],
               [0., 1., 0.]])
    """
    source, target = graph.edge_index.cpu().numpy()
    weight = np.ones(len(source)) if graph.edge_weight is None else graph.edge_weight.double().cpu().numpy()
    other = source != target
    n = graph.num_nodes
    return sp.csr_array((weight[other], (target[other], source[other])), shape=(n, n))


def one_hot(y: NDArray[np.int64], num_classes: int) -> Floats:
    """``[N]`` to ``[N, C]``; an unknown label, -1, is a row of zeros."""
    return np.asarray(np.vstack([np.eye(num_classes), np.zeros(num_classes)])[y])


def softmax(scores: Floats) -> Floats:
    """Of the rows of ``[N, C]``."""
    columns = np.ascontiguousarray(scores.T)  # five times as fast as over rows, which are short
    columns = np.exp(columns - columns.max(axis=0))
    return np.asarray((columns / columns.sum(axis=0)).T)


def tensor(array: Any) -> Tensor:
    """An array as a float64 tensor."""
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float64))
