"""GIN (Xu et al. 2019), the GNN that is as expressive as the 1-WL test."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clgnn.engine.dropout import dropout
from clgnn.engine.packed import Packed
from clgnn.engine.propagation import SparseMatrix
from clgnn.engine.row_blocks import Operator, own_rows
from clgnn.nn.labelled import OneOperator, gathered, layer_by_layer, linears, of_features, of_labels, own


class GIN(OneOperator):
    r"""Graph isomorphism network.

    .. math::
        h_v' = \mathrm{MLP}\Big((1 + \varepsilon) h_v + \sum_{u \in N(v)} h_u\Big)

    with a two-layer MLP and a learned :math:`\varepsilon` in each layer, a ReLU between layers.

    Args:
        in_channels: columns of X, plus C when labels are given.
        hidden_channels: h, the width of a layer.
        out_channels: columns of the output.
        num_layers: at least 1.
        dropout: after each hidden layer.

    Shapes: as for :class:`clgnn.nn.GCN`.

    Example:
        >>> import torch
        >>> gin = GIN(in_channels=3 + 2, hidden_channels=8, out_channels=2)
        >>> gin(torch.rand(4, 3), torch.tensor([[0, 1, 2], [1, 2, 3]]), labels=torch.rand(4, 10, 2)).shape
        torch.Size([4, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers is {num_layers}; GIN has at least 1")
        inputs = [in_channels, *[hidden_channels] * (num_layers - 1)]
        outputs = [*[hidden_channels] * (num_layers - 1), out_channels]
        self.enter = nn.ModuleList(nn.Linear(i, hidden_channels) for i in inputs)
        self.leave = nn.ModuleList(nn.Linear(hidden_channels, o) for o in outputs)
        self.eps = nn.Parameter(torch.zeros(num_layers))
        self.dropout = dropout
        self.hops = num_layers
        self.normalization = "sum"

    def reset_parameters(self) -> None:
        for layer in (*linears(self.enter), *linears(self.leave)):
            layer.reset_parameters()
        nn.init.zeros_(self.eps)

    @property
    def depth(self) -> int:
        return len(self.enter)

    def features(self, x: Tensor) -> Tensor:
        return of_features(x, linears(self.enter)[0].weight)

    def layer(self, i: int, a: Operator, h: Tensor, labels: Tensor | Packed) -> Tensor:
        enter, leave = linears(self.enter), linears(self.leave)
        if i == 0:
            wy = of_labels(labels, enter[0].weight)
            z = (1 + self.eps[0]) * own(a, h, labels, wy) + gathered(a, a @ h + enter[0].bias, labels, wy)
        else:
            z = (1 + self.eps[i]) * own_rows(a, h) + a @ h + enter[i].bias
        z = torch.relu(z)
        if i == self.depth - 1:
            out: Tensor = leave[-1](z.mean(dim=1))
            return out
        z = dropout(torch.relu(leave[i](z)), self.dropout, self.training)
        return z @ enter[i + 1].weight.t()  # what the next layer gathers

    def run(self, x: Tensor, operators: Sequence[SparseMatrix], labels: Tensor) -> Tensor:
        return layer_by_layer(self, linears(self.enter)[0].weight, x, operators, labels)
