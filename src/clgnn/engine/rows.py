"""Rows and shapes of :class:`~clgnn.engine.features.LabelledFeatures`, all samples at once.

In memory the K samples are the second dimension: dimension 0 of one sample is dimension 0 here, dimension i
is dimension i + 1.
"""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor

from clgnn.data.derived import derived
from clgnn.data.sparse import torch_csr
from clgnn.engine.attention import attend, dots, ends, largest_of_edges, sums_of_edges
from clgnn.engine.elementwise import elementwise
from clgnn.engine.features import (
    LabelledFeatures,
    Unsupported,
    become,
    handles,
    mapped,
    mine,
    named,
    num_samples,
    origin,
    size_of,
    whole,
)
from clgnn.engine.propagation import SparseMatrix

# Along the nodes


@handles("index_select")
def index_select(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, dim, index = named(args, kwargs, "input", "dim", "index")
    if not mine(x) or mine(index):
        return NotImplemented
    dim = dim % len(size_of(x))
    if dim > 0:
        return LabelledFeatures(whole(x).index_select(dim + 1, index))
    return LabelledFeatures.rows(x, index)


@handles("new_zeros new_ones")
def new(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A constant for every sample; no memory is taken before it is added to."""
    x, *size = args
    shape = tuple(size[0]) if isinstance(size[0], list | tuple) else tuple(size)
    each, shared = origin(x)
    if len(shape) == 1 and len(size_of(x)) > 1:  # a count of rows, which is the same for all samples
        return getattr(each, func.__name__)(shape, **kwargs)
    value = getattr(each, func.__name__)((), **kwargs)
    if shared is not None and len(shape) == 2 and shape[1] == size_of(x)[1]:
        samples = value.expand(shape[0], num_samples(x), shape[1] - shared.size(1))
        return LabelledFeatures(samples, value.expand(shape[0], shared.size(1)))
    return LabelledFeatures(value.expand(*shape[:1], num_samples(x), *shape[1:]))


@handles("scatter_add_ index_add_")
def scatter_add(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Sums rows into others. Rows that are yet to be taken are taken and summed by one sparse product."""
    target, dim, index, source = args
    plain = not mine(index) and index.numel() == index.size(0)
    if not mine(target) or not mine(source) or not plain or dim % len(size_of(target)) != 0:
        raise Unsupported("a sum into other than the rows of its samples")
    index, rows = index.reshape(-1), size_of(target)[0]
    if source.gathered is not None and index.device.type == "cpu":
        inner, chosen, weight = source.gathered
        if isinstance(weight, LabelledFeatures):
            total = _attended(inner, index, chosen, weight, rows)
            return become(target, total if _is_zero(target) else elementwise(torch.add, (target, total), {}))
        at_least = torch.promote_types(source.dtype, torch.float32)  # autocast gives bfloat16
        a = _summing(index, chosen, weight, (rows, size_of(inner)[0]), at_least)
        total = mapped(inner, lambda part: (a @ part).to(part.dtype))
    else:
        total = mapped(source, lambda part: sums_of_edges(part, index, rows))
    if not _is_zero(target):
        total = elementwise(torch.add, (target, total), {})
    return become(target, total)


def _attended(
    inner: LabelledFeatures, index: Tensor, chosen: Tensor, weight: LabelledFeatures, rows: int
) -> LabelledFeatures:
    """The sum of rows that have a weight for each sample; heads are further samples."""
    x = whole(inner)
    of = ends(index, chosen, (rows, len(x)))
    total = attend(of, whole(weight).flatten(1), x.flatten(1, -2))
    return LabelledFeatures(total.view(rows, *x.shape[1:]))


def _is_zero(x: LabelledFeatures) -> bool:
    """Whether x still is as :func:`new` made it: one number, zero, for all."""
    each, _ = origin(x)
    return each.dim() > 1 and not any(each.stride()) and bool(each.reshape(-1)[:1].sum() == 0)


def _summing(
    target: Tensor, source: Tensor, weight: Tensor | None, shape: tuple[int, int], dtype: torch.dtype
) -> SparseMatrix:
    """The matrix that takes the rows ``source`` and adds them to the rows ``target``."""
    base = target._base
    kept = derived(base) if base is not None and base is source._base and weight is None else {}
    key = ("summing", target.storage_offset(), source.storage_offset(), shape, dtype)
    if key not in kept:
        values = torch.ones(len(target), dtype=dtype) if weight is None else weight.to(dtype)
        places = (target.numpy(), source.numpy())
        kept[key] = SparseMatrix(torch_csr(sp.csr_array((values.numpy(), places), shape), dtype))
    operator: SparseMatrix = kept[key]
    return operator


@handles("scatter_reduce_")
def scatter_reduce(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Minima, maxima and the like of rows."""
    target, dim, index, source = args[:4]
    plain = not mine(index) and index.numel() == index.size(0)
    if not mine(target) or not mine(source) or not plain or dim % len(size_of(target)) != 0:
        raise Unsupported("a reduction into other than the rows of its samples")
    each = whole(source)
    if _is_zero(target) and args[4:] == () and kwargs == {"reduce": "amax", "include_self": False}:
        largest = largest_of_edges(each, index.reshape(-1), size_of(target)[0])
        if largest is not None:
            return become(target, LabelledFeatures(largest))
    places = index.reshape(-1, *[1] * (each.dim() - 1)).expand_as(each)
    result = whole(target).contiguous().scatter_reduce(0, places, each, *args[4:], **kwargs)
    return become(target, LabelledFeatures(result))


# Shapes


@handles("__getitem__")
def getitem(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, index = args
    if not mine(x) or mine(index):
        return NotImplemented
    if isinstance(index, Tensor) and index.dim() == 1:
        return mapped(x, lambda part: part[index])
    rest = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(i, int | slice) for i in rest) or not isinstance(rest[0], slice):
        return NotImplemented
    return LabelledFeatures(whole(x)[(rest[0], slice(None), *rest[1:])])


@handles("view reshape")
def view(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Nodes stay nodes: only the other dimensions are laid out anew."""
    x, *size = args
    if not mine(x) or kwargs or not all(isinstance(s, int | list | tuple) for s in size):
        return NotImplemented
    shape = list(size[0]) if isinstance(size[0], list | tuple) else size
    nodes, *own = size_of(x)
    rest = shape[1:]
    count = torch.Size(own).numel()
    if -1 in rest and count:
        rest[rest.index(-1)] = -count // (torch.Size(rest).numel() or 1)
    if shape[0] not in (-1, nodes) or torch.Size(rest).numel() != count:
        return NotImplemented
    return LabelledFeatures(whole(x).reshape(nodes, num_samples(x), *rest))


@handles("unsqueeze squeeze sum mean amax amin softmax log_softmax norm cumsum flip prod std var")
def along(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Operations along one dimension that is not that of the nodes."""
    x, dim = named(args, kwargs, "input", "dim")
    if func.__name__ == "norm" or not mine(x) or not isinstance(dim, int):
        return NotImplemented
    own = len(size_of(x)) + (func.__name__ == "unsqueeze")
    dim = dim % own
    if dim == 0 or own < 2:
        return NotImplemented
    keywords = {key: value for key, value in kwargs.items() if key not in ("input", "dim")}
    if x.paired is not None and func.__name__ == "sum" and dim == own - 1 and not keywords and not args[2:]:
        return _dots(*x.paired)
    return LabelledFeatures(func(whole(x), dim + 1, *args[2:], **keywords))


def _dots(one: LabelledFeatures, other: Tensor) -> LabelledFeatures:
    """The dot products of rows of two, or of rows and one for all, for each sample and head."""
    if not isinstance(other, LabelledFeatures):
        x = whole(one)
        x = x.flatten(2, -2) if x.dim() > 3 else x.unsqueeze(2)  # [N, K, heads, c]
        factors = other.reshape(-1, other.size(-1))
        heads = [x.squeeze(2)] if x.size(2) == 1 else x.unbind(2)
        found = torch.stack([head @ factor for head, factor in zip(heads, factors, strict=True)], dim=2)
        return LabelledFeatures(found.view(*found.shape[:2], *size_of(one)[1:-1]))
    assert one.gathered is not None
    assert other.gathered is not None
    (left, i, _), (right, j, _) = one.gathered, other.gathered
    a, b = whole(left), whole(right)
    of = ends(i, j, (len(a), len(b)))
    return LabelledFeatures(dots(of, a.flatten(1, -2), b.flatten(1, -2)).view(len(i), *a.shape[1:-1]))


@handles("cat concat stack")
def cat(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors, dim = named(args, kwargs, "tensors", "dim")
    stacking = func.__name__ == "stack"
    own = max(len(size_of(t)) for t in tensors) + stacking
    dim = (dim or 0) % own
    if dim == 0 or own < 2:
        return NotImplemented
    k = next(num_samples(t) for t in tensors if mine(t))
    values = [whole(t) if mine(t) else t.unsqueeze(1).expand(t.size(0), k, *t.shape[1:]) for t in tensors]
    return LabelledFeatures(func(values, dim + 1))


@handles("layer_norm")
def layer_norm(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, *rest = args
    return LabelledFeatures(func(whole(x), *rest, **kwargs)) if mine(x) else NotImplemented
