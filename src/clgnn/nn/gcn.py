"""GCN (Kipf and Welling 2017), with K label samples for little more than the price of one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from clgnn.engine.dropout import dropout
from clgnn.engine.packed import Packed
from clgnn.engine.pooled import mean_of_relu
from clgnn.engine.propagation import SparseMatrix
from clgnn.engine.row_blocks import Operator
from clgnn.nn.labelled import OneOperator, around, gathered, layer_by_layer, linears, of_features, of_labels


class GCN(OneOperator):
    r"""Graph convolutional network.

    .. math::
        H_{l+1} = \mathrm{dropout}(\mathrm{ReLU}(\hat A H_l W_l + b_l)), \qquad
        \mathrm{out} = \hat A H_{L-1} W_{L-1} + b_{L-1}

    with :math:`H_0 = [X | Y_k]` and :math:`\hat A = D^{-1}(A+I)` (``"row"``, which works on graphs of
    any size alike) or :math:`D^{-1/2}(A+I)D^{-1/2}` (``"sym"``). The last layer is affine, so that the
    mean over the samples is taken before it.

    Args:
        in_channels: columns of X, plus C when labels are given.
        hidden_channels: h, the width of a layer.
        out_channels: columns of the output.
        num_layers: L, at least 2.
        dropout: after each hidden layer.
        normalization: ``"row"`` or ``"sym"``.

    Shapes:
        x ``[N, p]`` (dense or sparse CSR), edge_index ``[2, E]``, labels ``[N, K, C]`` or None; output
        ``[N, out_channels]``, the mean over K.

    Example:
        >>> import torch
        >>> gcn = GCN(in_channels=3 + 2, hidden_channels=8, out_channels=2)
        >>> gcn(torch.rand(4, 3), torch.tensor([[0, 1, 2], [1, 2, 3]]), labels=torch.rand(4, 10, 2)).shape
        torch.Size([4, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        normalization: Literal["row", "sym"] = "row",
    ) -> None:
        super().__init__()
        if num_layers < 2:
            raise ValueError(f"num_layers is {num_layers}; a GCN has at least 2")
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in pairwise(widths))
        self.dropout = dropout
        self.normalization = normalization
        self.hops = num_layers + (normalization == "sym")  # the neighbours' degrees take one more
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in linears(self.layers):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    @property
    def depth(self) -> int:
        return len(self.layers)

    def features(self, x: Tensor) -> Tensor:
        return of_features(x, linears(self.layers)[0].weight)

    def layer(self, i: int, a: Operator, h: Tensor, labels: Tensor | Packed) -> Tensor:
        layer = linears(self.layers)[i]
        if i == self.depth - 1:
            out: Tensor = layer(a @ h)
            return out
        if i == 0 and self.depth == 2 and isinstance(a, SparseMatrix) and isinstance(labels, Tensor):
            p = self.dropout if self.training else 0.0
            return mean_of_relu(a @ h + layer.bias, around(a, labels), of_labels(labels, layer.weight), p)
        if i == 0:
            z = gathered(a, a @ h + layer.bias, labels, of_labels(labels, layer.weight))  # [n, K, h]
        else:
            z = layer(a @ h)
        z = dropout(torch.relu_(z), self.dropout, self.training)
        return z.mean(dim=1) if i == self.depth - 2 else z

    def run(self, x: Tensor, operators: Sequence[SparseMatrix], labels: Tensor) -> Tensor:
        return layer_by_layer(self, linears(self.layers)[0].weight, x, operators, labels)
