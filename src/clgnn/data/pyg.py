"""A stored graph as PyG's remote backends have it: a ``FeatureStore`` and a ``GraphStore`` in one."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import EdgeAttr, FeatureStore, GraphStore, TensorAttr
from torch_geometric.data.graph_store import EdgeLayout

from clgnn.data.arrays import shared
from clgnn.data.stored import StoredGraph

EDGE = ("node", "to", "node")
"""The type of the edges; nodes have none."""


class Stores(FeatureStore, GraphStore):  # type: ignore[misc]
    """Rows of x and y, and the edges, for PyG's loaders; they are read when they are asked for.

    A loader takes it twice: ``NodeLoader((stores, stores), ..)``. It can't be written to. Weights of edges
    have no place in PyG's stores.

    Args:
        graph: in memory or on disk.

    Example:
        >>> from torch_geometric.data import Data
        >>> from clgnn.data.stored import stored
        >>> edges = torch.tensor([[0, 2], [1, 1]])
        >>> graph = stored(Data(x=torch.eye(3), edge_index=edges, y=torch.tensor([0, 1, 0])))
        >>> stores = Stores(graph)
        >>> stores.get_tensor(None, "x", index=torch.tensor([2]))
        tensor([[0., 0., 1.]])
        >>> stores.get_edge_index(EDGE, "csc")
        (tensor([0, 2]), tensor([0, 0, 2, 2]))
    """

    def __init__(self, graph: StoredGraph) -> None:
        super().__init__()
        GraphStore.__init__(self)
        self.__dict__["graph"] = graph  # a FeatureStore has views in place of attributes

    def _get_tensor(self, attr: TensorAttr) -> Tensor | None:
        if attr.group_name is not None or attr.attr_name not in ("x", "y"):
            return None
        values = getattr(self.graph, attr.attr_name)
        if attr.index is None:
            return shared(values)
        index = attr.index.cpu().numpy() if isinstance(attr.index, Tensor) else attr.index
        return torch.from_numpy(np.array(values[index]))

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...] | None:
        known = attr.group_name is None and attr.attr_name in ("x", "y")
        return tuple(getattr(self.graph, attr.attr_name).shape) if known else None

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        """The tensors that there are: x and y."""
        return [TensorAttr(None, name) for name in ("x", "y")]

    def _get_edge_index(self, attr: EdgeAttr) -> tuple[Tensor, Tensor] | None:
        if tuple(attr.edge_type) != EDGE or attr.layout != EdgeLayout.CSC:
            return None
        return torch.from_numpy(self.graph.indices.astype(np.int64)), shared(self.graph.indptr)

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        """The edges that there are, by target."""
        n = self.graph.num_nodes
        return [EdgeAttr(EDGE, EdgeLayout.CSC, is_sorted=True, size=(n, n))]

    def _refuse(self, *_: Any) -> NoReturn:
        raise ValueError("a stored graph can't be written to; change its tables, and prepare it again")

    _put_tensor = _remove_tensor = _put_edge_index = _remove_edge_index = _refuse
