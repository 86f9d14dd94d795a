"""GraphSAGE with the mean aggregator and neighbour sampling (Hamilton, Ying and Leskovec 2017)."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from clgnn.engine.dropout import dropout
from clgnn.engine.propagation import SparseMatrix, propagation, sample_neighbors
from clgnn.nn.labelled import linears, or_no_labels, propagated_linear, split_linear


class SAGE(nn.Module):
    r"""GraphSAGE.

    .. math::
        h_v' = \mathrm{ReLU}\Big(W_1 h_v + W_2 \frac{1}{|S(v)|} \sum_{u \in S(v)} h_u + b\Big)

    In training S(v) are ``num_neighbors`` neighbours, drawn anew for each layer of each step; in
    evaluation all of them. The last layer is the same without the ReLU.

    Args:
        in_channels: columns of X, plus C when labels are given.
        hidden_channels: h, the width of a layer.
        out_channels: columns of the output.
        num_layers: at least 2.
        dropout: after each hidden layer.
        num_neighbors: how many neighbours are drawn, 5 in the paper; 0 for all.

    Shapes: as for :class:`clgnn.nn.GCN`.

    Example:
        >>> import torch
        >>> sage = SAGE(in_channels=3, hidden_channels=8, out_channels=2)
        >>> sage(torch.rand(4, 3), torch.tensor([[0, 1, 2], [1, 2, 3]])).shape
        torch.Size([4, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        num_neighbors: int = 5,
    ) -> None:
        super().__init__()
        if num_layers < 2:
            raise ValueError(f"num_layers is {num_layers}; GraphSAGE has at least 2")
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        pairs = list(pairwise(widths))
        self.own = nn.ModuleList(nn.Linear(i, o) for i, o in pairs)
        self.neighbors = nn.ModuleList(nn.Linear(i, o, bias=False) for i, o in pairs)
        self.dropout = dropout
        self.num_neighbors = num_neighbors
        self.hops = num_layers

    def reset_parameters(self) -> None:
        for layer in (*linears(self.own), *linears(self.neighbors)):
            layer.reset_parameters()

    def _mean(self, full: SparseMatrix) -> SparseMatrix:
        draws = self.training and self.num_neighbors > 0
        return sample_neighbors(full, self.num_neighbors) if draws else full

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, labels: Tensor | None = None
    ) -> Tensor:
        labels = or_no_labels(x, labels)
        full = propagation(edge_index, x.size(0), edge_weight, "mean", dtype=x.dtype)
        own, neighbors = linears(self.own), linears(self.neighbors)
        shared, wy = split_linear(x, labels, own[0].weight)
        h = (shared + own[0].bias).unsqueeze(1) + labels @ wy.t()
        h = h + propagated_linear(self._mean(full), x, labels, neighbors[0].weight)  # [N, K, h]
        for layer, gather in zip(own[1:-1], neighbors[1:-1], strict=True):
            h = dropout(torch.relu(h), self.dropout, self.training)
            h = layer(h) + self._mean(full) @ gather(h)
        h = dropout(torch.relu(h), self.dropout, self.training).mean(dim=1)
        out: Tensor = own[-1](h) + neighbors[-1](self._mean(full) @ h)
        return out
