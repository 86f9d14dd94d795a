"""NIP-mean (Vijayan et al. 2018), a kernel in which a node's own information enters every layer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clgnn.engine.dropout import dropout
from clgnn.engine.propagation import SparseMatrix
from clgnn.engine.row_blocks import own_rows
from clgnn.nn.labelled import OneOperator, gathered, linears, split_linear


class NIPMean(OneOperator):
    r"""The node information preserving kernel with the mean aggregator.

    .. math::
        h_v^{k} = \mathrm{ReLU}\Big(W_\phi^k h_v^0 + W_\psi^k
        \frac{1}{|N(v)|} \sum_{u \in N(v)} h_u^{k-1} + b^k\Big)

    with :math:`h^0 = [X | Y_k]`. In other GNNs, what a node says of itself is mixed with its neighbours' in
    the first layer, and more so in every further one. Here :math:`h_v^0` enters each layer as it is, by
    weights of its own. The last layer is the same without the ReLU.

    Args:
        in_channels: columns of X, plus C when labels are given.
        hidden_channels: h, the width of a layer.
        out_channels: columns of the output.
        num_layers: how many hops it looks, at least 1.
        dropout: after each hidden layer.

    Shapes: as for :class:`clgnn.nn.GCN`.

    Example:
        >>> import torch
        >>> nip = NIPMean(in_channels=3 + 2, hidden_channels=8, out_channels=2)
        >>> nip(torch.rand(4, 3), torch.tensor([[0, 1, 2], [1, 2, 3]]), labels=torch.rand(4, 10, 2)).shape
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
            raise ValueError(f"num_layers is {num_layers}; NIP-mean has at least 1")
        outputs = [*[hidden_channels] * (num_layers - 1), out_channels]
        inputs = [in_channels, *outputs[:-1]]
        self.own = nn.ModuleList(nn.Linear(in_channels, o) for o in outputs)
        pairs = zip(inputs, outputs, strict=True)
        self.neighbors = nn.ModuleList(nn.Linear(i, o, bias=False) for i, o in pairs)
        self.dropout = dropout
        self.hops = num_layers
        self.normalization = "mean"
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in (*linears(self.own), *linears(self.neighbors)):
            nn.init.xavier_uniform_(layer.weight)
        for layer in linears(self.own):
            nn.init.zeros_(layer.bias)

    @property
    def depth(self) -> int:
        return len(self.own)

    def run(self, x: Tensor, operators: Sequence[SparseMatrix], labels: Tensor) -> Tensor:
        own, neighbors = linears(self.own), linears(self.neighbors)
        theirs, of_theirs = split_linear(x, labels, neighbors[0].weight)
        shared, wy = split_linear(x, labels, torch.cat([layer.weight for layer in own]))
        shared = shared + torch.cat([layer.bias for layer in own])  # X W_φ^k + b^k of all layers
        widths = [layer.out_features for layer in own]
        h = z = gathered(operators[0], operators[0] @ theirs, labels, of_theirs)  # [n, K, h]
        for i, a in enumerate(operators):
            around = z if i == 0 else a @ neighbors[i](h)
            shared, labels = own_rows(a, shared), own_rows(a, labels)
            mine = shared.split(widths, dim=1)[i].unsqueeze(1) + labels @ wy.split(widths)[i].t()
            z = mine + around
            h = dropout(torch.relu(z), self.dropout, self.training) if i < self.depth - 1 else z
        return h.mean(dim=1)
