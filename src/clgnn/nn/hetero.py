"""GraphSAGE for several types of nodes and edges."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.nn import HeteroDictLinear, SAGEConv

EdgeType = tuple[str, str, str]


class HeteroSAGE(nn.Module):
    r"""Means over the neighbours of each relation, added up.

    .. math::
        H^{l+1}_v = W^l_{\tau(v)} H^l_v + \sum_{r = (a, \cdot, \tau(v))} W^l_r
        \frac{1}{|N_r(v)|} \sum_{u \in N_r(v)} H^l_u

    with a ReLU and dropout between the layers. A node that no edge leads to keeps its own term. The input
    channels are found out when it first runs.

    Args:
        node_types, edge_types: as PyG's ``HeteroData.metadata()`` gives them.
        hidden_channels, out_channels: the width of the hidden layers, and of the last one.
        num_layers: L, at least 1.
        dropout: after each hidden layer.

    Shapes:
        ``x_dict`` ``[N_a, p_a]`` and ``edge_index_dict`` ``[2, E_r]``; the output has ``[N_a, out_channels]``
        for each type.

    Example:
        >>> import torch
        >>> writes = ("author", "writes", "paper")
        >>> gnn = HeteroSAGE(["author", "paper"], [writes], 8, 3)
        >>> x = {"author": torch.rand(2, 4), "paper": torch.rand(3, 5)}
        >>> gnn(x, {writes: torch.tensor([[0, 1], [0, 2]])})["paper"].shape
        torch.Size([3, 3])
    """

    def __init__(
        self,
        node_types: list[str],
        edge_types: list[EdgeType],
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.edge_types = list(edge_types)
        self.own, self.gathered = nn.ModuleList(), nn.ModuleList()
        for width in (*[hidden_channels] * (num_layers - 1), out_channels):
            self.own.append(HeteroDictLinear(-1, width, types=node_types))
            convs = (SAGEConv((-1, -1), width, root_weight=False, bias=False) for _ in edge_types)
            self.gathered.append(nn.ModuleList(convs))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x_dict: dict[str, Tensor], edge_index_dict: dict[EdgeType, Tensor]
    ) -> dict[str, Tensor]:
        for number, (own, convs) in enumerate(zip(self.own, self.gathered, strict=True)):
            if number > 0:
                x_dict = {kind: self.dropout(x.relu()) for kind, x in x_dict.items()}
            out = own(x_dict)
            assert isinstance(convs, nn.ModuleList)
            for kind, conv in zip(self.edge_types, convs, strict=True):
                source, _, target = kind
                out[target] = out[target] + conv((x_dict[source], x_dict[target]), edge_index_dict[kind])
            x_dict = out
        return x_dict
