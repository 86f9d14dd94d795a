"""GraphSAGE with the mean aggregator and neighbour sampling (Hamilton, Ying and Leskovec 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from clgnn.engine.dropout import dropout
from clgnn.engine.packed import Packed
from clgnn.engine.pooled import mean_of_relu
from clgnn.engine.propagation import SparseMatrix, sample_neighbors
from clgnn.engine.row_blocks import Operator, RowBlock, own_rows
from clgnn.nn.labelled import (
    OneOperator,
    around,
    gathered,
    layer_by_layer,
    linears,
    of_features,
    of_labels,
    own,
)


class SAGE(OneOperator):
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
        self.normalization = "mean"

    def reset_parameters(self) -> None:
        for layer in (*linears(self.own), *linears(self.neighbors)):
            layer.reset_parameters()

    def _mean(self, full: Operator) -> Operator:
        if self.training and self.num_neighbors > 0 and isinstance(full, SparseMatrix):
            return sample_neighbors(full, self.num_neighbors)
        return full

    @property
    def depth(self) -> int:
        return len(self.own)

    def features(self, x: Tensor) -> Tensor:
        return of_features(x, torch.cat([of[0].weight for of in self._weights()]))

    def layer(self, i: int, a: Operator, h: Tensor, labels: Tensor | Packed) -> Tensor:
        layer, gather = (of[i] for of in self._weights())
        mean = self._mean(a)
        if i == 0:
            mine, theirs = h.chunk(2, dim=1)
            # of rows in pieces, all columns are gathered: theirs alone would be copied for each piece
            theirs = (mean @ h).chunk(2, dim=1)[1] if isinstance(a, RowBlock) else mean @ theirs.contiguous()
            if self.depth == 2 and isinstance(a, SparseMatrix) and isinstance(labels, Tensor):
                both = torch.cat([own_rows(a, labels), around(mean, labels)], dim=2)
                weight = torch.cat([of_labels(labels, of.weight) for of in (layer, gather)], dim=1)
                p = self.dropout if self.training else 0.0
                return mean_of_relu(own_rows(a, mine) + theirs + layer.bias, both, weight, p)
            z = own(a, mine, labels, of_labels(labels, layer.weight))
            z = z + gathered(mean, theirs + layer.bias, labels, of_labels(labels, gather.weight))  # [n, K, h]
        elif i < self.depth - 1:
            z = layer(own_rows(a, h)) + gather(mean @ h)
        else:
            out: Tensor = layer(own_rows(a, h)) + gather(mean @ h)
            return out
        z = dropout(torch.relu(z), self.dropout, self.training)
        return z.mean(dim=1) if i == self.depth - 2 else z

    def _weights(self) -> tuple[list[nn.Linear], list[nn.Linear]]:
        return linears(self.own), linears(self.neighbors)

    def run(self, x: Tensor, operators: Sequence[SparseMatrix], labels: Tensor) -> Tensor:
        return layer_by_layer(self, linears(self.own)[0].weight, x, operators, labels)
