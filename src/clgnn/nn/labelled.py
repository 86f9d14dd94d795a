"""[X | Y_k], the input of sample k: X is wide and the same for all k, Y_k has C columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clgnn.data.derived import derived
from clgnn.engine.packed import Packed
from clgnn.engine.propagation import Normalization, SparseMatrix, project, propagation
from clgnn.engine.row_blocks import Operator, RowBlock, gather, own_rows
from clgnn.engine.streaming import Layerwise


def linears(layers: nn.ModuleList) -> list[nn.Linear]:
    """The layers, with their type."""
    return [layer for layer in layers if isinstance(layer, nn.Linear)]


def or_no_labels(x: Tensor, labels: Tensor | None) -> Tensor:
    """``labels``, or one sample without columns ``[N, 1, 0]``: what a GNN on X alone gets."""
    if labels is not None:
        return labels
    return torch.empty((x.size(0), 1, 0), dtype=x.dtype, device=x.device)


def split_linear(x: Tensor, labels: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """``X Wxᵀ`` and the rest of the weight, Wy, where ``[X | Y_k] Wᵀ = X Wxᵀ + Y_k Wyᵀ``.

    Args:
        x: ``[N, p]``, dense or sparse.
        labels: ``[N, K, C]``.
        weight: W of shape ``[h, p + C]``.

    Returns:
        ``[N, h]``, once for all samples, and ``[h, C]``.
    """
    check_channels(x, labels, weight)
    return of_features(x, weight), of_labels(labels, weight)


def check_channels(x: Tensor, labels: Tensor, weight: Tensor) -> None:
    """Refuses a weight ``[h, p + C]`` that is not for these features and labels."""
    if weight.size(1) != x.size(1) + labels.size(2):
        raise ValueError(
            f"the GNN takes {weight.size(1)} input channels; x has {x.size(1)} and the labels "
            f"{labels.size(2)}: build it with in_channels={x.size(1) + labels.size(2)}"
        )


def of_features(x: Tensor, weight: Tensor) -> Tensor:
    """``X Wxᵀ``, once for all samples, ``[N, h]``."""
    return project(x, weight[:, : x.size(1)])


def of_labels(labels: Tensor | Packed, weight: Tensor) -> Tensor:
    """Wy, ``[h, C]``."""
    return weight[:, weight.size(1) - labels.size(2) :]


def layer_by_layer(
    gnn: Layerwise, weight: Tensor, x: Tensor, operators: Sequence[SparseMatrix], labels: Tensor
) -> Tensor:
    """All layers of a GNN, each with its operator; ``weight`` is its first one."""
    check_channels(x, labels, weight)
    h = gnn.features(x)
    for i, a in enumerate(operators):
        h = gnn.layer(i, a, h, labels)
    return h


class OneOperator(nn.Module):
    """The ``forward`` of a GNN whose layers all gather with the same operator."""

    normalization: Normalization

    @property
    @abstractmethod
    def depth(self) -> int:
        """How many layers it has."""

    @abstractmethod
    def run(self, x: Tensor, operators: Sequence[SparseMatrix], labels: Tensor) -> Tensor:
        """See :class:`clgnn.engine.rings.Layered`."""

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, labels: Tensor | None = None
    ) -> Tensor:
        a = propagation(edge_index, x.size(0), edge_weight, self.normalization, dtype=x.dtype)
        return self.run(x, [a] * self.depth, or_no_labels(x, labels))


def gathered(a: Operator, features: Tensor, labels: Tensor | Packed, wy: Tensor) -> Tensor:
    """``F + A Y_k Wyᵀ`` ``[n, K, h]``, for what was gathered of the features, F ``[n, h]``, for all samples.

    The labels are propagated before they are multiplied: C columns are fewer than h, and no gradient flows to
    them.
    """
    y = around(a, labels)
    if isinstance(a, RowBlock):  # samples first in memory, where the mean over them takes less time
        weight = wy.t().expand(y.size(1), -1, -1)
        return torch.baddbmm(features.unsqueeze(0), y.transpose(0, 1), weight).transpose(0, 1)
    return features.unsqueeze(1) + y @ wy.t()


def around(a: Operator, labels: Tensor | Packed) -> Tensor:
    """``A @ Y`` ``[n, K, C]``. Validation judges the same draws in every epoch: there it is made once."""
    if torch.is_grad_enabled() or isinstance(labels, Packed):
        return gather(a, labels)
    made = derived(labels)
    if a not in made:
        made[a] = gather(a, labels)
    found: Tensor = made[a]
    return found


def own(a: Operator, shared: Tensor, labels: Tensor | Packed, wy: Tensor) -> Tensor:
    """``S + Y_k Wyᵀ`` ``[n, K, h]``, of the nodes that the operator gathers for."""
    return own_rows(a, shared).unsqueeze(1) + own_rows(a, labels) @ wy.t()


def uniform(layer: nn.Linear) -> None:
    """The initial weights of Luan et al.: U(±1/√out)."""
    bound = layer.out_features**-0.5
    nn.init.uniform_(layer.weight, -bound, bound)
    nn.init.uniform_(layer.bias, -bound, bound)
