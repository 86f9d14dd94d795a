"""Truncated Krylov (Luan et al. 2019), the other multi-scale GCN of the authors of Snowball."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from clgnn.engine.dropout import dropout
from clgnn.engine.propagation import SparseMatrix, propagation
from clgnn.nn.labelled import linears, or_no_labels, split_linear, uniform


class Krylov(nn.Module):
    r"""Truncated Krylov: every layer sees m powers of the operator.

    .. math::
        H_{l+1} = \tanh([H_l | \hat A H_l | \dots | \hat A^{m-1} H_l] W_l + b_l), \qquad
        \mathrm{out} = H_n W_n + b_n

    with :math:`H_0 = [X | Y_k]` and :math:`\hat A = D^{-1}(A+I)`; evaluated by Horner's rule, with m-1
    sparse products per layer.

    Args:
        in_channels: columns of X, plus C when labels are given.
        hidden_channels: h, the width of each layer.
        out_channels: columns of the output.
        num_layers: n hidden layers.
        dropout: after each hidden layer.
        num_powers: m.

    Shapes: as for :class:`clgnn.nn.GCN`.

    Example:
        >>> import torch
        >>> tk = Krylov(in_channels=3, hidden_channels=8, out_channels=2, num_layers=2)
        >>> tk(torch.rand(4, 3), torch.tensor([[0, 1, 2], [1, 2, 3]])).shape
        torch.Size([4, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 10,
        dropout: float = 0.5,
        num_powers: int = 4,
    ) -> None:
        super().__init__()
        if num_layers < 1 or num_powers < 1:
            raise ValueError(f"num_layers is {num_layers} and num_powers {num_powers}; both are at least 1")
        self.num_powers, self.dropout = num_powers, dropout
        self.hops = num_layers * (num_powers - 1)
        widths = [in_channels, *[hidden_channels] * (num_layers - 1)]
        self.layers = nn.ModuleList(nn.Linear(width * num_powers, hidden_channels) for width in widths)
        self.last = nn.Linear(hidden_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in (*linears(self.layers), self.last):
            uniform(layer)

    def _horner(self, a: SparseMatrix, parts: Tensor) -> Tensor:
        """Σ_i Aⁱ P_i for P of shape ``[..., m, h]``, in m-1 products."""
        total, *rest = reversed(parts.unbind(dim=-2))
        for part in rest:
            total = part + a @ total.contiguous()
        return total

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, labels: Tensor | None = None
    ) -> Tensor:
        labels = or_no_labels(x, labels)
        a = propagation(edge_index, x.size(0), edge_weight, "row", dtype=x.dtype)
        m = self.num_powers
        first, *rest = linears(self.layers)
        stacked = torch.cat(first.weight.chunk(m, dim=1))  # [m h, p + C]
        shared, wy = split_linear(x, labels, stacked)
        powers = [labels]
        for _ in range(m - 1):
            powers.append(a @ powers[-1])
        by_power = torch.cat(wy.chunk(m), dim=1)  # [h, m C]
        h = (self._horner(a, shared.unflatten(1, (m, -1))) + first.bias).unsqueeze(1)
        h = torch.tanh(h + torch.cat(powers, dim=2) @ by_power.t())  # [N, K, h]
        for layer in rest:
            h = dropout(h, self.dropout, self.training)
            parts = h @ torch.cat(layer.weight.chunk(m, dim=1)).t()
            h = torch.tanh(self._horner(a, parts.unflatten(2, (m, -1))) + layer.bias)
        out: Tensor = self.last(dropout(h, self.dropout, self.training).mean(dim=1))
        return out
