"""What a valid graph is; and the one place where labels are hidden or shown.

A graph is a PyG ``Data`` with ``x`` ``[N, p]`` (dense or sparse), ``edge_index`` ``[2, E]``, optional
``edge_weight`` ``[E]``, ``edge_attr`` ``[E, d]`` and ``edge_type`` ``[E]``, and ``y`` ``[N]`` with -1 (NaN
for regression) where the label is unknown. Several graphs are a list of them, joined without edges in
between. Of a ``HeteroData``, N are the nodes of the one type that has labels.

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
from torch_geometric.data import Data, HeteroData

import clgnn.data.sparse  # noqa: F401  (silences torch's word that CSR is in beta)
from clgnn.data.checks import check_graph, check_tensor, is_integer
from clgnn.data.derived import derived
from clgnn.data.hetero import Hetero, labelled_part
from clgnn.data.stored import StoredGraph, outline

Graphs: TypeAlias = Data | HeteroData | Sequence[Data] | StoredGraph
Mask: TypeAlias = Any  # a bool [N] or the indices of the chosen nodes; a list of them for several graphs
Nodes: TypeAlias = Tensor | list[Tensor]
"""One row for each node; a list of such tensors when a list of graphs was given."""

ONE = (Data, HeteroData, StoredGraph)
"""What one graph may be."""
SPARSE_BELOW = 0.15


@dataclass(frozen=True)
class Graph:
    """Topology and features, without labels.

    Attributes:
        x: ``[N, p]`` float32, dense or sparse CSR.
        edge_index: ``[2, E]``.
        edge_weight: ``[E]`` or None.
        sizes: the number of nodes of each of the graphs that it was made of.
        edge_attr: ``[E, d]`` or None.
        start_proba: first predictions of the labels that a user gives, ``[N, C]`` or None.
        edge_type: the type of each edge, ``[E]`` int64 or None.
        hetero: the other types of nodes, and all edges, of a heterogeneous graph; None for any other.
    """

    x: Tensor
    edge_index: Tensor
    edge_weight: Tensor | None
    sizes: tuple[int, ...]
    edge_attr: Tensor | None = None
    start_proba: Tensor | None = None
    edge_type: Tensor | None = None
    hetero: Hetero | None = None

    @property
    def num_nodes(self) -> int:
        return self.x.size(0)

    @property
    def num_features(self) -> int:
        return self.x.size(1)

    @property
    def device(self) -> torch.device:
        return self.x.device

    @property
    def home(self) -> torch.device:
        """Where labels and predictions of all nodes are."""
        return self.x.device

    def of_edges(self) -> tuple[Tensor | None, ...]:
        """What the graph has of its edges: weights, features and types."""
        return self.edge_weight, self.edge_attr, self.edge_type

    @cached_property
    def dense_x(self) -> Tensor:
        return self.x if self.x.layout == torch.strided else self.x.to_dense()

    @cached_property
    def simple(self) -> bool:
        """Whether no two edges join the same nodes in the same direction, and none a node with itself."""
        source, target = self.edge_index
        pairs = source * self.num_nodes + target
        return bool((source != target).all()) and len(pairs.unique()) == len(pairs)


def as_list(data: Graphs) -> list[Data]:
    """The graphs of a ``Data`` or of a list of them; of a ``HeteroData`` the part that has labels."""
    expected = "expected a torch_geometric Data with x and edge_index, or a list of them"
    if isinstance(data, HeteroData):
        return [labelled_part(data)]
    if isinstance(data, StoredGraph):
        return [outline(data)]
    if not isinstance(data, Data) and not isinstance(data, Sequence):
        raise ValueError(f"the graph is a {type(data).__name__}; {expected}")
    graphs = [data] if isinstance(data, Data) else list(data)
    if not graphs:
        raise ValueError(f"the list of graphs is empty; {expected}")
    for graph in graphs:
        if not isinstance(graph, Data):
            hint = " (one HeteroData, not in a list)" if isinstance(graph, HeteroData) else ""
            raise ValueError(f"a graph is a {type(graph).__name__}; {expected}{hint}")
    return graphs


def as_graph(data: Graphs, device: torch.device | str = "cpu", num_features: int | None = None) -> Graph:
    """Checks one or several graphs and joins them into a :class:`Graph` on the device.

    Args:
        data: a ``Data`` or a list of them.
        device: where the graph goes.
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
        check_graph(graph, name)
        expected = num_features or graphs[0].x.size(1)
        if graph.x.size(1) != expected:
            raise ValueError(f"{name} has {graph.x.size(1)} feature columns; expected {expected}")
    x = [_detached(graph.x).to(device=device, dtype=torch.float32) for graph in graphs]
    sizes = tuple(len(part) for part in x)
    names = ("edge_weight", "edge_attr", "start_proba")
    weight, attr, start = (_joined(graphs, name, device) for name in names)
    types = _joined(graphs, "edge_type", device, torch.long)
    if len(graphs) == 1:
        edges = graphs[0].edge_index.to(device=device, dtype=torch.long)
        hetero = graphs[0].hetero.to(device) if "hetero" in graphs[0] else None
        return Graph(_compressed(x[0]), edges, weight, sizes, attr, start, types, hetero)
    dense = all(part.layout == torch.strided for part in x)
    joined = _compressed(torch.cat(x) if dense else torch.cat([_coo(part) for part in x]))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    shifted = [graph.edge_index.to(device).long() + int(at) for graph, at in zip(graphs, starts, strict=True)]
    return Graph(joined, torch.cat(shifted, dim=1), weight, sizes, attr, start, types)


def _detached(tensor: Tensor) -> Tensor:
    """The same tensor, which what was derived from it belongs to, unless it has a gradient."""
    return tensor.detach() if tensor.requires_grad else tensor


def _joined(
    graphs: Sequence[Data], name: str, device: torch.device | str, dtype: torch.dtype = torch.float32
) -> Tensor | None:
    """What all graphs have of each edge or node, or None if none of them has it."""
    values = [getattr(graph, name, None) for graph in graphs]
    given = [value for value in values if value is not None]
    if not given:
        return None
    if len(given) < len(graphs):
        raise ValueError(f"some graphs have {name} and some do not; expected all or none of them to")
    moved = [_detached(value).to(device=device, dtype=dtype) for value in given]
    return moved[0] if len(moved) == 1 else torch.cat(moved)


def _compressed(x: Tensor) -> Tensor:
    """X in the layout that multiplies faster: CSR up to 15 % of non-zeros (see benchmarks), else dense."""
    made = derived(x)
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


def as_mask(mask: Mask, data: Graphs, name: str) -> Tensor:
    """A mask over all nodes, bool ``[N]``, from a bool mask, from node indices, or from a list of either."""
    graphs = as_list(data)
    parts = [mask] if isinstance(data, ONE) else mask
    if not isinstance(parts, Sequence) or len(parts) != len(graphs):
        raise ValueError(f"{name} must be a list with one mask for each of the {len(graphs)} graphs")
    return torch.cat(
        [_one_mask(part, graph.x.size(0), name) for part, graph in zip(parts, graphs, strict=True)]
    )


def _one_mask(mask: Mask, num_nodes: int, name: str) -> Tensor:
    expected = f"expected a bool mask [{num_nodes}] or integer node indices"
    try:
        tensor = torch.as_tensor(mask).detach()
        check_tensor(tensor, "the mask", name, "of truth values or indices", (torch.strided,))
        tensor = tensor.cpu()
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} is {type(mask).__name__} ({error}); {expected}") from error
    if tensor.numel() == 0 and tensor.dtype != torch.bool:
        tensor = tensor.long()  # an empty list of indices
    if tensor.dtype == torch.bool:
        if tensor.shape != (num_nodes,):
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}; {expected}")
        return tensor
    if not is_integer(tensor) or tensor.dim() != 1:
        raise ValueError(f"{name} is {tensor.dtype} of shape {tuple(tensor.shape)}; {expected}")
    if tensor.dtype == torch.uint8:
        raise ValueError(
            f"{name} is torch.uint8, which may be a mask or node indices; {expected}: "
            "use .bool() for a mask, .long() for indices"
        )
    if tensor.numel() and (int(tensor.min()) < 0 or int(tensor.max()) >= num_nodes):
        raise ValueError(f"{name} has node {int(tensor.max())}; expected indices 0..{num_nodes - 1}")
    if len(tensor) == num_nodes > 2 and int(tensor.max()) <= 1:
        raise ValueError(f"{name} has {num_nodes} integers, all 0 or 1: it looks like a mask; use .bool()")
    return torch.zeros(num_nodes, dtype=torch.bool).index_fill_(0, tensor.long(), True)


def visible_labels(data: Graphs, mask: Tensor) -> Tensor:
    """The labels inside the mask, ``[N]``; all others are unknown. All that the method sees comes from here.

    Integer labels become int64, so that unknown always is -1; real labels become float64, and unknown is NaN.
    So do several labels of 0 and 1 for each node, ``[N, L]``, also where -1 stood.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> data = Data(x=torch.ones(3, 1), y=torch.tensor([0, 1, 2], dtype=torch.uint8))
        >>> visible_labels(data, torch.tensor([True, False, True]))
        tensor([ 0, -1,  2])
    """
    graphs = as_list(data)
    for graph in graphs:
        shape = f"with one label for each of {graph.x.size(0)} nodes, [N], or several of 0 and 1, [N, L]"
        check_tensor(graph.y, "the graph", "y", shape, (torch.strided,))
        if (
            graph.y.dim() not in (1, 2)
            or graph.y.size(0) != graph.x.size(0)
            or graph.y.shape[1:] != graphs[0].y.shape[1:]
        ):
            raise ValueError(
                f"the graph has y of shape {tuple(graph.y.shape)}; expected {shape.removeprefix('with ')}"
            )
    several = graphs[0].y.dim() == 2
    real = several or any(graph.y.is_floating_point() for graph in graphs)
    y = torch.cat([graph.y.detach().cpu().to(torch.float64 if real else torch.int64) for graph in graphs])
    if several:
        y = torch.where(y == -1, torch.nan, y)
        if not bool(((y == 0) | (y == 1) | y.isnan()).all()):
            raise ValueError("y [N, L] has other values than 0 and 1; expected these, -1 or NaN if unknown")
    return only(y, mask)


def only(y: Tensor, mask: Tensor) -> Tensor:
    """The labels of the nodes in the mask, bool ``[N]``; all others are unknown.

    Example:
        >>> import torch
        >>> only(torch.tensor([2, 1]), torch.tensor([False, True]))
        tensor([-1,  1])
    """
    shown, unknown = mask if y.dim() == 1 else mask.unsqueeze(1), torch.nan if y.is_floating_point() else -1
    return torch.where(shown, y, torch.full_like(y, unknown))


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
    """Which nodes have a known label, bool ``[N]``; of several labels, one at least."""
    if y.dim() == 2:
        return ~y.isnan().all(dim=1)
    return ~y.isnan() if y.is_floating_point() else y >= 0


def disjoint(a: Tensor, b: Tensor, a_name: str, b_name: str) -> None:
    """Refuses two masks that share nodes."""
    shared = int((a & b).sum())
    if shared:
        raise ValueError(
            f"{shared} nodes are both in {a_name} and in {b_name}; a label can't be "
            "learned from or shown, and judged too: take them out of one"
        )


def by_graph(rows: Tensor, data: Graphs) -> Nodes:
    """Rows of all nodes, split into those of each graph if a list of graphs was given."""
    if isinstance(data, ONE):
        return rows
    return list(rows.split([graph.x.size(0) for graph in data]))
