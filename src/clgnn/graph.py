"""What a valid graph is; and the one place where labels are hidden or shown.

A graph is a PyG ``Data`` with ``x`` ``[N, p]`` (dense or sparse), ``edge_index`` ``[2, E]``, optional
``edge_weight`` ``[E]`` and ``y`` ``[N]`` with -1 (NaN for regression) where the label is unknown. Several
graphs are a list of them, and become one graph with no edges in between.

:class:`Graph`, which the method works on, has no labels at all. The labels that may be seen come apart,
from :func:`visible_labels`, which sets everything outside of an explicit mask to unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from clgnn.nn.propagation import cached, propagation

Graphs: TypeAlias = Data | Sequence[Data]
Mask: TypeAlias = Any  # a bool [N] or the indices of the chosen nodes; a list of them for several graphs


SPARSE_BELOW = 0.1


@dataclass(frozen=True)
class Graph:
    """Topology and features, without labels.

    Attributes:
        x: ``[N, p]`` float32, dense or sparse CSR.
        edge_index: ``[2, E]``.
        edge_weight: ``[E]`` or None.
        sizes: the number of nodes of each of the graphs that it was made of.
    """

    x: Tensor
    edge_index: Tensor
    edge_weight: Tensor | None
    sizes: tuple[int, ...]

    @property
    def num_nodes(self) -> int:
        return self.x.size(0)

    @cached_property
    def dense_x(self) -> Tensor:
        return self.x if self.x.layout == torch.strided else self.x.to_dense()

    @cached_property
    def simple(self) -> bool:
        """Whether no two edges join the same nodes in the same direction, and none a node with itself."""
        source, target = self.edge_index
        pairs = source * self.num_nodes + target
        return bool((source != target).all()) and len(pairs.unique()) == len(pairs)

    @cached_property
    def adjacency(self) -> Tensor:
        """Aᵀ as PyG's layers take it in place of ``edge_index``: CSR ``[N, N]``, a row a target."""
        return propagation(self.edge_index, self.num_nodes, self.edge_weight, "sum", dtype=self.x.dtype).csr


def as_list(data: Graphs) -> list[Data]:
    graphs = [data] if isinstance(data, Data) else list(data)
    if not graphs:
        raise ValueError("the list of graphs is empty; expected one torch_geometric Data at least")
    for graph in graphs:
        if not isinstance(graph, Data):
            raise ValueError(
                f"a graph is a {type(graph).__name__}; expected a torch_geometric Data with x and edge_index"
            )
    return graphs


def as_graph(data: Graphs, device: torch.device | str = "cpu", num_features: int | None = None) -> Graph:
    """Checks one or several graphs and joins them into a :class:`Graph` on the device.

    Args:
        data: a ``Data`` or a list of them.
        device: where to.
        num_features: the columns that x must have, when a model knows them already.

    Raises:
        ValueError: if a graph is empty, or its features, edges or weights are not what they should be.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> one = Data(x=torch.ones(2, 3), edge_index=torch.tensor([[0], [1]]))
        >>> as_graph([one, one]).edge_index
        tensor([[0, 2],
                [1, 3]])
    """
    graphs = as_list(data)
    for i, graph in enumerate(graphs):
        name = "the graph" if len(graphs) == 1 else f"graph {i}"
        _check(graph, name)
        expected = num_features or graphs[0].x.size(1)
        if graph.x.size(1) != expected:
            raise ValueError(f"{name} has {graph.x.size(1)} feature columns; expected {expected}")
    x = [graph.x.to(device=device, dtype=torch.float32) for graph in graphs]
    sizes = tuple(len(part) for part in x)
    weights = [getattr(graph, "edge_weight", None) for graph in graphs]
    if len(graphs) == 1:
        weight = None if weights[0] is None else weights[0].to(device=device, dtype=torch.float32)
        return Graph(_compressed(x[0]), graphs[0].edge_index.to(device), weight, sizes)
    given = [w for w in weights if w is not None]
    if given and len(given) < len(graphs):
        raise ValueError("some graphs have edge_weight and some do not; expected all or none of them to")
    dense = all(part.layout == torch.strided for part in x)
    joined = _compressed(torch.cat(x) if dense else torch.cat([_coo(part) for part in x]))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    edges = [graph.edge_index.to(device) + int(start) for graph, start in zip(graphs, starts, strict=True)]
    weight = torch.cat(given).to(device=device, dtype=torch.float32) if given else None
    return Graph(joined, torch.cat(edges, dim=1), weight, sizes)


def _compressed(x: Tensor) -> Tensor:
    """X in the layout that multiplies faster: CSR up to a tenth of non-zeros (see benchmarks), else dense."""
    made = cached(x)
    if "compressed" not in made:
        stored = x.values() if x.layout == torch.sparse_csr else x._values() if x.is_sparse else x
        if int(stored.count_nonzero()) <= SPARSE_BELOW * x.numel():
            made["compressed"] = None if x.layout == torch.sparse_csr else x.to_sparse_csr()
        else:
            made["compressed"] = None if x.layout == torch.strided else x.to_dense()
    changed: Tensor | None = made["compressed"]
    return x if changed is None else changed


def _coo(x: Tensor) -> Tensor:
    return x.to_sparse() if x.layout == torch.strided else x.to_sparse_coo()


def _check(graph: Data, name: str) -> None:
    x, edge_index, weight = graph.x, graph.edge_index, getattr(graph, "edge_weight", None)
    if not isinstance(x, Tensor) or x.dim() != 2:
        came = "no x" if x is None else f"x of shape {tuple(getattr(x, 'shape', ()))}"
        raise ValueError(
            f"{name} has {came}; expected node features x [N, p]. Nodes without features can have a "
            "constant one: data.x = torch.ones(num_nodes, 1)"
        )
    if x.size(0) == 0:
        raise ValueError(f"{name} is empty: it has no nodes; expected one at least")
    stored = x if x.layout == torch.strided else x.coalesce().values() if x.is_sparse else x.values()
    if not torch.isfinite(stored).all():
        bad = int((~torch.isfinite(stored)).sum())
        raise ValueError(f"{name} has {bad} NaN or infinite values in x; expected numbers: fill or drop them")
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or edge_index.size(0) != 2:
        came = "no edge_index" if edge_index is None else f"edge_index of shape {tuple(edge_index.shape)}"
        raise ValueError(f"{name} has {came}; expected edge_index [2, E] (E may be 0)")
    if edge_index.numel() and (int(edge_index.min()) < 0 or int(edge_index.max()) >= x.size(0)):
        raise ValueError(
            f"{name} has edges to nodes {int(edge_index.min())}..{int(edge_index.max())}; "
            f"expected 0..{x.size(0) - 1}, as x has {x.size(0)} rows"
        )
    if weight is not None:
        if weight.shape != (edge_index.size(1),):
            raise ValueError(
                f"{name} has edge_weight of shape {tuple(weight.shape)}; expected [{edge_index.size(1)}]"
            )
        if not torch.isfinite(weight).all() or bool((weight < 0).any()):
            raise ValueError(f"{name} has negative, NaN or infinite edge weights; expected 0 or more")


def as_mask(mask: Mask, data: Graphs, name: str) -> Tensor:
    """A mask over all nodes, bool ``[N]``, from a bool mask, from node indices, or from a list of either."""
    graphs = as_list(data)
    parts = [mask] if isinstance(data, Data) else mask
    if not isinstance(parts, Sequence) or len(parts) != len(graphs):
        raise ValueError(f"{name} must be a list with a mask for each of the {len(graphs)} graphs")
    return torch.cat(
        [_one_mask(part, graph.x.size(0), name) for part, graph in zip(parts, graphs, strict=True)]
    )


def _one_mask(mask: Mask, num_nodes: int, name: str) -> Tensor:
    tensor = torch.as_tensor(mask).cpu()
    if tensor.numel() == 0 and tensor.dtype != torch.bool:
        tensor = tensor.long()  # an empty list of indices
    if tensor.dtype == torch.bool:
        if tensor.shape != (num_nodes,):
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)}; expected a bool for each of {num_nodes} nodes"
            )
        return tensor
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dim() != 1:
        raise ValueError(f"{name} is {tensor.dtype}; expected a bool mask [N] or integer node indices")
    if tensor.numel() and (int(tensor.min()) < 0 or int(tensor.max()) >= num_nodes):
        raise ValueError(f"{name} has node {int(tensor.max())}; expected indices 0..{num_nodes - 1}")
    return torch.zeros(num_nodes, dtype=torch.bool).index_fill_(0, tensor.long(), True)


def visible_labels(data: Graphs, mask: Tensor) -> Tensor:
    """The labels inside the mask, ``[N]``; all others are unknown (-1, or NaN if y is real).

    Every label that the method sees has come through here.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> data = Data(x=torch.ones(3, 1), y=torch.tensor([0, 1, 2]))
        >>> visible_labels(data, torch.tensor([True, False, True]))
        tensor([ 0, -1,  2])
    """
    graphs = as_list(data)
    for graph in graphs:
        if not isinstance(graph.y, Tensor) or graph.y.shape != (graph.x.size(0),):
            came = "no y" if graph.y is None else f"y of shape {tuple(graph.y.shape)}"
            raise ValueError(
                f"the graph has {came}; expected a label for each of {graph.x.size(0)} nodes, [N]"
            )
    y = torch.cat([graph.y.cpu() for graph in graphs])
    unknown = float("nan") if y.is_floating_point() else -1
    return torch.where(mask, y, torch.full_like(y, unknown))


def labels_to_learn(data: Graphs, train: Tensor) -> Tensor:
    """The :func:`visible_labels` of ``train_mask``, of which there must be some."""
    visible = visible_labels(data, train)
    if not bool(known(visible).any()):
        raise ValueError(
            f"none of the {int(train.sum())} nodes of train_mask has a label; expected some (y is -1, or NaN "
            "for regression, where the label is unknown)"
        )
    return visible


def known(y: Tensor) -> Tensor:
    """Which labels are known, bool ``[N]``."""
    return ~y.isnan() if y.is_floating_point() else y >= 0
