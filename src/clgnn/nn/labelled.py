"""[X | Y_k], the input of sample k: X is wide and the same for all k, Y_k has C columns."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from clgnn.engine.propagation import SparseMatrix, project


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
    wx, wy = weight.split([x.size(1), weight.size(1) - x.size(1)], dim=1)
    if wy.size(1) != labels.size(2):
        raise ValueError(
            f"the GNN takes {weight.size(1)} input channels; x has {x.size(1)} and the labels "
            f"{labels.size(2)}: build it with in_channels={x.size(1) + labels.size(2)}"
        )
    return project(x, wx), wy


def propagated_linear(a: SparseMatrix, x: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
    """``A [X | Y_k] Wᵀ`` of shape ``[N, K, h]``.

    A X Wx is computed once for all samples. The labels are propagated before they are multiplied: C
    columns are fewer than h, and no gradient flows to them.
    """
    shared, wy = split_linear(x, labels, weight)
    return (a @ shared).unsqueeze(1) + (a @ labels) @ wy.t()


def uniform(layer: nn.Linear) -> None:
    """The initial weights of Luan et al.: U(±1/√out)."""
    bound = layer.out_features**-0.5
    nn.init.uniform_(layer.weight, -bound, bound)
    nn.init.uniform_(layer.bias, -bound, bound)
