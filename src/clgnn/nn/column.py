"""Column networks (Pham et al. 2017): deep highway layers whose weights are shared over depth."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from clgnn.engine.dropout import dropout
from clgnn.engine.propagation import propagation
from clgnn.nn.labelled import or_no_labels, split_linear


class ColumnNetwork(nn.Module):
    r"""A column of highway layers above each node, which see their neighbours' columns.

    .. math::
        h^0 &= \mathrm{ReLU}(W_0 [X | Y_k] + b_0), \qquad
        c_v^t = \frac{1}{|N(v)|} \sum_{u \in N(v)} h_u^{t-1}

        \tilde h_v^t &= \mathrm{ReLU}(W h_v^{t-1} + V c_v^t + b), \qquad
        \alpha_v^t = \sigma(W_\alpha h_v^{t-1} + V_\alpha c_v^t + b_\alpha)

        h_v^t &= \alpha_v^t \tilde h_v^t + (1 - \alpha_v^t) h_v^{t-1}, \qquad
        \mathrm{out} = W_1 h^L + b_1

    All layers t = 1..L have the same weights, so that depth costs no parameters. The gates begin nearly
    closed (:math:`b_\alpha = -L / 10`, the authors'). Edges have one type here: the authors have a V for
    each.

    Args:
        in_channels: columns of X, plus C when labels are given.
        hidden_channels: h, the width of a layer.
        out_channels: columns of the output.
        num_layers: L, at least 1; the authors' code has 10.
        dropout: after the first layer and before the last.

    Shapes: as for :class:`clgnn.nn.GCN`.

    Example:
        >>> import torch
        >>> column = ColumnNetwork(in_channels=3 + 2, hidden_channels=8, out_channels=2)
        >>> column(torch.rand(4, 3), torch.tensor([[0, 1, 2], [1, 2, 3]]), labels=torch.rand(4, 9, 2)).shape
        torch.Size([4, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 4,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers is {num_layers}; a column network has at least 1")
        self.first = nn.Linear(in_channels, hidden_channels)
        self.own = nn.Linear(hidden_channels, 2 * hidden_channels)  # the candidate's rows, then the gate's
        self.neighbors = nn.Linear(hidden_channels, 2 * hidden_channels, bias=False)
        self.last = nn.Linear(hidden_channels, out_channels)
        self.num_layers, self.dropout, self.hops = num_layers, dropout, num_layers
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in (self.first, self.last):
            nn.init.xavier_normal_(layer.weight)
        for layer in (self.own, self.neighbors):
            for half in layer.weight.detach().chunk(2):
                nn.init.xavier_normal_(half)
        for layer in (self.first, self.own, self.last):
            nn.init.zeros_(layer.bias)
        nn.init.constant_(self.own.bias.detach().chunk(2)[1], -0.1 * self.num_layers)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, labels: Tensor | None = None
    ) -> Tensor:
        labels = or_no_labels(x, labels)
        a = propagation(edge_index, x.size(0), edge_weight, "mean", dtype=x.dtype)
        shared, wy = split_linear(x, labels, self.first.weight)
        h = torch.relu((shared + self.first.bias).unsqueeze(1) + labels @ wy.t())  # [N, K, h]
        h = dropout(h, self.dropout, self.training)
        for _ in range(self.num_layers):
            candidate, gate = (self.own(h) + self.neighbors(a @ h)).chunk(2, dim=-1)
            opened = torch.sigmoid(gate)
            h = opened * torch.relu(candidate) + (1 - opened) * h
        out: Tensor = self.last(dropout(h, self.dropout, self.training).mean(dim=1))
        return out
