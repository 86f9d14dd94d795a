"""Products with :class:`~clgnn.engine.features.LabelledFeatures`: X is multiplied once for all samples."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from clgnn.data.derived import derived
from clgnn.engine.features import LabelledFeatures, handles, mapped, mine, named, origin, size_of, taken
from clgnn.engine.propagation import SparseMatrix, project


@handles("linear")
def linear(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``[X | Y_k] Wᵀ + b``, with X Wxᵀ once for all samples."""
    x, weight, bias = named(args, kwargs, "input", "weight", "bias")
    if not mine(x) or mine(weight) or mine(bias):
        return NotImplemented
    each, x_shared = origin(taken(x))
    if x_shared is None:
        return LabelledFeatures(F.linear(each, weight, bias))
    wx, wy = weight.tensor_split([x_shared.size(-1)], dim=1)
    shared = project(x_shared, wx)
    return LabelledFeatures((shared if bias is None else shared + bias).unsqueeze(1) + each @ wy.t())


@handles("matmul mm __matmul__ _sparse_mm")
def matmul(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    left, right, *rest = args
    if mine(left) and not mine(right) and right.dim() == 2 and right.layout == torch.strided:
        return linear(F.linear, (left, right.t()), {}) if len(size_of(left)) > 1 else NotImplemented
    reduce = rest[0] if rest else "sum"
    if mine(left) or left.layout == torch.strided or left.requires_grad or len(size_of(right)) != 2:
        return NotImplemented
    if reduce in ("sum", "mean"):
        matrix = _matrix(left, reduce)
        return mapped(right, lambda part: matrix @ part)
    return mapped(right, lambda part: _reduced(left, part, reduce))


def _matrix(sparse: Tensor, reduce: str) -> SparseMatrix:
    """A sparse tensor, and the mean over the entries of its rows, as a constant; made once."""
    made = derived(sparse)
    if reduce not in made:
        csr = sparse.detach().to_sparse_csr()
        if reduce == "mean":
            counts = csr.crow_indices().diff()
            values = csr.values() / torch.repeat_interleave(counts, counts)
            csr = torch.sparse_csr_tensor(
                csr.crow_indices(), csr.col_indices(), values, csr.shape, check_invariants=False
            )
        made[reduce] = SparseMatrix(csr)
    matrix: SparseMatrix = made[reduce]
    return matrix


def _reduced(sparse: Tensor, part: Tensor, reduce: str) -> Tensor:
    """Minima and maxima: the samples are further columns."""
    out: Tensor = torch.sparse.mm(sparse, part.reshape(part.size(0), -1), reduce)
    return out.view(sparse.size(0), *part.shape[1:])
