"""Column networks (Pham et al. 2017): deep highway layers whose weights are shared over depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from clgnn.data.derived import derived
from clgnn.data.sparse import scipy_csr, torch_csr
from clgnn.engine.dropout import dropout
from clgnn.engine.propagation import SparseMatrix, propagation
from clgnn.engine.row_blocks import own_rows
from clgnn.nn.labelled import or_no_labels, split_linear


class ColumnNetwork(nn.Module):
    r"""A column of highway layers above each node, which see their neighbours' columns.

    .. math::
        h^0 &= \mathrm{ReLU}(W_0 [X | Y_k] + b_0), \qquad
        c_{vr}^t = \frac{1}{|N_r(v)|} \sum_{u \in N_r(v)} h_u^{t-1}

        \tilde h_v^t &= \mathrm{ReLU}\Big(W h_v^{t-1} + \sum_r V_r c_{vr}^t + b\Big), \qquad
        \alpha_v^t = \sigma\Big(W_\alpha h_v^{t-1} + \sum_r V_{\alpha r} c_{vr}^t + b_\alpha\Big)

        h_v^t &= \alpha_v^t \tilde h_v^t + (1 - \alpha_v^t) h_v^{t-1}, \qquad
        \mathrm{out} = W_1 h^L + b_1

    All layers t = 1..L have the same weights, so that depth costs no parameters. The gates begin nearly
    closed (:math:`b_\alpha = -L / 10`, the authors'). Each type of edges, r, has means and weights of its
    own; edges without types are all of one.

    Args:
        in_channels: columns of X, plus C when labels are given.
        hidden_channels: h, the width of a layer.
        out_channels: columns of the output.
        num_layers: L, at least 1; the authors' code has 10.
        dropout: after the first layer and before the last.
        num_relations: how many types of edges there are, 0 to ``num_relations - 1`` in ``edge_type``.

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
        num_relations: int = 1,
    ) -> None:
        super().__init__()
        if num_layers < 1 or num_relations < 1:
            raise ValueError(
                f"num_layers is {num_layers} and num_relations {num_relations}; a column network has at "
                "least 1 of each"
            )
        self.first = nn.Linear(in_channels, hidden_channels)
        self.own = nn.Linear(hidden_channels, 2 * hidden_channels)  # the candidate's rows, then the gate's
        self.neighbors = nn.Linear(num_relations * hidden_channels, 2 * hidden_channels, bias=False)
        self.last = nn.Linear(hidden_channels, out_channels)
        self.num_layers, self.dropout, self.hops = num_layers, dropout, num_layers
        self.num_relations, self.normalization = num_relations, "mean"
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

    @property
    def depth(self) -> int:
        return self.num_layers

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        edge_type: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> Tensor:
        labels = or_no_labels(x, labels)
        a = self._operator(edge_index, x, edge_weight, edge_type)
        return self.run(x, [a] * self.depth, labels)

    def _operator(
        self, edge_index: Tensor, x: Tensor, edge_weight: Tensor | None, edge_type: Tensor | None
    ) -> SparseMatrix:
        """The means of neighbours; those of each type, one below the other, if there are several types."""
        if self.num_relations == 1:
            return propagation(edge_index, x.size(0), edge_weight, "mean", dtype=x.dtype)
        last = -1 if edge_type is None else int(edge_type.max()) if len(edge_type) else 0
        if edge_type is None or last >= self.num_relations:
            came = "there are none" if edge_type is None else f"the largest is {last}"
            raise ValueError(
                f"the column network was built for edges of {self.num_relations} types, and {came}; expected "
                f"edge_type with 0 to {self.num_relations - 1} for each edge"
            )
        made = derived(edge_index)
        key, given = ("by type", x.size(0), self.num_relations, x.dtype), (edge_type, edge_weight)
        versions = [None if of is None else of._version for of in given]
        if (
            key not in made
            or made[key][0] != versions
            or any(one is not other for one, other in zip(made[key][1], given, strict=True))
        ):
            parts = [edge_type == kind for kind in range(self.num_relations)]
            weights = [None if edge_weight is None else edge_weight[part] for part in parts]
            of_types = [
                propagation(edge_index[:, part], x.size(0), weight, "mean", dtype=x.dtype)
                for part, weight in zip(parts, weights, strict=True)
            ]
            stacked = sp.vstack([scipy_csr(a.csr, np.int32) for a in of_types], format="csr")
            operator = SparseMatrix(torch_csr(stacked, x.dtype, x.device, np.int32))
            made[key] = (versions, given, operator)
        found: SparseMatrix = made[key][2]
        return found

    def run(self, x: Tensor, operators: Sequence[SparseMatrix], labels: Tensor) -> Tensor:
        shared, wy = split_linear(x, labels, self.first.weight)
        h = torch.relu((shared + self.first.bias).unsqueeze(1) + labels @ wy.t())  # [N, K, h]
        h = dropout(h, self.dropout, self.training)
        for a in operators:
            mine = own_rows(a, h)
            around = torch.cat((a @ h).chunk(self.num_relations), dim=-1)  # [n, K, relations h]
            candidate, gate = (self.own(mine) + self.neighbors(around)).chunk(2, dim=-1)
            opened = torch.sigmoid(gate)
            h = opened * torch.relu(candidate) + (1 - opened) * mine
        out: Tensor = self.last(dropout(h, self.dropout, self.training).mean(dim=1))
        return out

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Weights that were learned for another number of types bring it along."""
        found = state_dict.get(f"{prefix}neighbors.weight")
        if found is not None and found.size(1) != self.neighbors.in_features:
            self.num_relations = found.size(1) // self.own.in_features
            device = self.neighbors.weight.device
            self.neighbors = nn.Linear(found.size(1), found.size(0), bias=False, device=device)
        super()._load_from_state_dict(state_dict, prefix, *rest)
