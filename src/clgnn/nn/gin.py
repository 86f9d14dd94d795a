"""GIN (Xu et al. 2019), the GNN that is as expressive as the 1-WL test."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from clgnn.engine.dropout import dropout
from clgnn.engine.propagation import propagation
from clgnn.nn.labelled import linears, or_no_labels, propagated_linear, split_linear


class GIN(nn.Module):
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

    def reset_parameters(self) -> None:
        for layer in (*linears(self.enter), *linears(self.leave)):
            layer.reset_parameters()
        nn.init.zeros_(self.eps)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, labels: Tensor | None = None
    ) -> Tensor:
        labels = or_no_labels(x, labels)
        a = propagation(edge_index, x.size(0), edge_weight, "sum", dtype=x.dtype)
        enter, leave = linears(self.enter), linears(self.leave)
        shared, wy = split_linear(x, labels, enter[0].weight)
        own = shared.unsqueeze(1) + labels @ wy.t()
        h = (1 + self.eps[0]) * own + propagated_linear(a, x, labels, enter[0].weight) + enter[0].bias
        for i in range(1, len(enter)):
            h = dropout(torch.relu(leave[i - 1](torch.relu(h))), self.dropout, self.training)
            h = h @ enter[i].weight.t()
            h = (1 + self.eps[i]) * h + a @ h + enter[i].bias
        out: Tensor = leave[-1](torch.relu(h).mean(dim=1))
        return out
