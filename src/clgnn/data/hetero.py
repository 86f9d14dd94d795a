"""A heterogeneous graph: several types of nodes and edges, and labels for the nodes of one type."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

EdgeType = tuple[str, str, str]


@dataclass(frozen=True)
class Hetero:
    """What a heterogeneous graph has beside the features of the nodes that are labelled.

    Attributes:
        kind: the type of the labelled nodes.
        x: the features of the other types of nodes.
        edges: ``edge_index`` of every type of edges.
    """

    kind: str
    x: dict[str, Tensor]
    edges: dict[EdgeType, Tensor]

    def to(self, device: torch.device | str) -> Hetero:
        x = {name: value.to(device=device, dtype=torch.float32) for name, value in self.x.items()}
        edges = {name: value.to(device=device, dtype=torch.long) for name, value in self.edges.items()}
        return Hetero(self.kind, x, edges)

    def arguments(self, x: Tensor) -> tuple[dict[str, Tensor], dict[EdgeType, Tensor]]:
        """What a module is called with, ``x_dict, edge_index_dict``, for this input of labelled nodes."""
        return {**self.x, self.kind: x}, self.edges

    def tensors(self) -> list[Tensor]:
        """All of it, in an order that does not change."""
        return [value for _, value in sorted(self.x.items())] + [
            self.edges[name] for name in sorted(self.edges)
        ]


def labelled_part(data: HeteroData) -> Data:
    """The labelled nodes of a heterogeneous graph as a graph of their own, which knows the rest.

    Raises:
        ValueError: if not exactly one type of nodes has labels, or a type has no features.

    Example:
        >>> data = HeteroData()
        >>> data["paper"].x, data["paper"].y = torch.ones(2, 3), torch.tensor([0, 1])
        >>> data["author"].x = torch.ones(1, 2)
        >>> data["author", "writes", "paper"].edge_index = torch.tensor([[0, 0], [0, 1]])
        >>> part = labelled_part(data)
        >>> part.x.shape, part.hetero.kind, list(part.hetero.x)
        (torch.Size([2, 3]), 'paper', ['author'])
    """
    kinds = [name for name in data.node_types if isinstance(data[name].get("y"), Tensor)]
    if len(kinds) != 1:
        raise ValueError(
            f"the HeteroData has labels y for {len(kinds)} types of nodes{': ' * bool(kinds)}"
            f"{', '.join(kinds)}; expected exactly one type with labels: delete the others"
        )
    for name in data.node_types:
        x = data[name].get("x")
        if not isinstance(x, Tensor) or x.dim() != 2 or not bool(torch.isfinite(x.float()).all()):
            raise ValueError(
                f"the nodes of type {name!r} have no x [N, p] of finite numbers; expected features for every "
                "type: a constant, or one-hot ids (torch.eye)"
            )
    for name, edge_index in data.edge_index_dict.items():
        _check(edge_index, name, data[name[0]].x.size(0), data[name[2]].x.size(0))
    store = data[kinds[0]]
    others = {name: data[name].x for name in data.node_types if name != kinds[0]}
    empty = torch.empty(2, 0, dtype=torch.long)
    given = {name: store[name] for name in ("train_mask", "val_mask", "test_mask") if name in store}
    hetero = Hetero(kinds[0], others, dict(data.edge_index_dict))
    return Data(x=store.x, y=store.y, edge_index=empty, hetero=hetero, **given)


def _check(edge_index: Tensor, name: EdgeType, sources: int, targets: int) -> None:
    if edge_index.numel() and (
        int(edge_index.min()) < 0
        or int(edge_index[0].max()) >= sources
        or int(edge_index[1].max()) >= targets
    ):
        raise ValueError(
            f"edges of type {name} go from 0..{int(edge_index[0].max())} to 0..{int(edge_index[1].max())}; "
            f"expected 0..{sources - 1} and 0..{targets - 1}, the nodes that there are"
        )
