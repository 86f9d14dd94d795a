"""What torch's operations do on :class:`~clgnn.collective.features.LabelledFeatures`, all samples at once.

In memory the K samples are the second dimension: dimension 0 of one sample is dimension 0 here, dimension i
is dimension i + 1. The part that all samples share stays apart in what treats every column alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from clgnn.collective.features import (
    HANDLERS,
    Handler,
    LabelledFeatures,
    Unsupported,
    dense,
    mine,
    num_samples,
    origin,
    size_of,
    taken,
    whole,
)
from clgnn.nn.dropout import dropout
from clgnn.nn.propagation import SparseMatrix, cached, project, torch_csr


def handles(names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(names.split(), handler))
        return handler

    return register


def _map(x: LabelledFeatures, function: Callable[[Tensor], Tensor]) -> LabelledFeatures:
    """What is done to each row, or each element, alike: on both parts."""
    x = taken(x)
    assert x.each is not None
    return LabelledFeatures(function(x.each), None if x.shared is None else function(dense(x.shared)))


def _become(x: LabelledFeatures, result: LabelledFeatures) -> LabelledFeatures:
    """The end of an operation in place."""
    if size_of(x) != size_of(result):
        raise Unsupported("an operation in place that changes the size")
    x.each, x.shared, x.gathered = result.each, result.shared, result.gathered
    return x


def _named(args: tuple[Any, ...], kwargs: dict[str, Any], *names: str) -> list[Any]:
    return [args[i] if i < len(args) else kwargs.get(name) for i, name in enumerate(names)]


# Elementwise

_UNARY = """
    relu leaky_relu elu selu celu gelu silu mish hardswish hardtanh relu6 softplus sigmoid logsigmoid tanh
    exp log log1p expm1 sqrt rsqrt abs neg negative square reciprocal sin cos erf clamp clamp_min clamp_max
    clip __neg__ detach clone contiguous float double nan_to_num positive sign
"""
_BINARY = """
    add sub subtract mul multiply div divide true_divide pow maximum minimum eq ne lt le gt ge where rsub
    __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __pow__ __rpow__
    __truediv__ __rtruediv__ __itruediv__ __rdiv__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__
"""
_PRODUCTS = {"mul", "multiply", "__mul__", "__rmul__"}
_IN_PLACE = {"__iadd__": torch.add, "__isub__": torch.sub, "__imul__": torch.mul, "__itruediv__": torch.div}


@handles(" ".join([_UNARY, _BINARY, *(f"{name}_" for name in (_UNARY + _BINARY).split())]))
def elementwise(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = func.__name__
    in_place = name in _IN_PLACE or (name.endswith("_") and not name.endswith("__"))
    if in_place:
        func = _IN_PLACE.get(name) or getattr(torch, name[:-1], None) or getattr(F, name[:-1], None)
        if func is None or not mine(args[0]):
            raise Unsupported(f"{name} of a tensor that is the same for all samples")
    elif kwargs.get("inplace"):
        in_place, kwargs = True, {**kwargs, "inplace": False}
    if any(isinstance(value, Tensor) for value in kwargs.values()):
        return NotImplemented
    dim = max(len(size_of(value)) for value in args if mine(value))
    if any(isinstance(value, Tensor) and value.dim() > dim for value in args):
        return NotImplemented
    result: Any = NotImplemented
    if name in _PRODUCTS:
        result = _weighted_rows(args)
    if result is NotImplemented:
        result = _by_parts(func, args, kwargs)
    if result is NotImplemented:
        result = LabelledFeatures(func(*(_aligned(value, dim) for value in args), **kwargs))
    return _become(args[0], result) if in_place else result


def _aligned(value: Any, dim: int) -> Any:
    """An operand that broadcasts against the K samples of a tensor with ``dim`` dimensions."""
    if isinstance(value, LabelledFeatures):
        values, own = whole(value), len(size_of(value))
        if own == dim:
            return values
        first = values.movedim(min(1, own), 0)  # [K, ...]
        return first.reshape(1, first.size(0), *[1] * (dim - own - 1), *first.shape[1:])
    if isinstance(value, Tensor) and value.dim() == dim and dim > 0:
        return value.unsqueeze(1)
    return value


def _by_parts(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The shared part and the samples apart, where every operand treats all columns alike."""
    own = [taken(value) for value in args if mine(value)]
    widths = {None if x.shared is None else x.shared.size(-1) for x in own}
    others = [value for value in args if isinstance(value, Tensor) and not mine(value)]
    if len(widths) != 1 or None in widths or any(t.dim() > 0 and t.size(-1) != 1 for t in others):
        return NotImplemented
    each = func(*(value.each if mine(value) else _aligned(value, 2) for value in args), **kwargs)
    shared = func(*(dense(value.shared) if mine(value) else value for value in args), **kwargs)
    return LabelledFeatures(each, shared)


def _weighted_rows(args: tuple[Any, ...]) -> Any:
    """Rows that are yet to be taken, times a weight for each: the weight is kept with them."""
    x, weight = args if mine(args[0]) else args[::-1]
    if mine(weight) or not isinstance(weight, Tensor) or x.gathered is None or x.gathered[2] is not None:
        return NotImplemented
    size = size_of(x)
    if weight.requires_grad or weight.shape != (size[0], *[1] * (len(size) - 1)):
        return NotImplemented
    return LabelledFeatures.rows(x.gathered[0], x.gathered[1], weight.reshape(-1))


@handles("dropout")
def drop(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Each sample drops elements of its own; the shared part drops the same ones in all."""
    x, p, training, inplace = _named(args, kwargs, "input", "p", "training", "inplace")
    p, training = 0.5 if p is None else p, True if training is None else training
    result = _map(x, lambda part: dropout(part, p, training)) if training and p > 0 else x
    return _become(x, result) if inplace else result


@handles("expand_as")
def expand_as(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What is to be combined with the samples is not written out for each: it broadcasts."""
    value, _ = args
    return NotImplemented if mine(value) else value


# Products


@handles("linear")
def linear(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``[X | Y_k] Wᵀ + b``, with X Wxᵀ once for all samples."""
    x, weight, bias = _named(args, kwargs, "input", "weight", "bias")
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
        return _map(right, lambda part: matrix @ part)
    return _map(right, lambda part: _reduced(left, part, reduce))


def _matrix(sparse: Tensor, reduce: str) -> SparseMatrix:
    """A sparse tensor, and the mean over the entries of its rows, as a constant; made once."""
    made = cached(sparse)
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


# Along the nodes


@handles("index_select")
def index_select(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, dim, index = _named(args, kwargs, "input", "dim", "index")
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
        a = _summing(index, chosen, weight, (rows, size_of(inner)[0]), source.dtype)
        total = _map(inner, lambda part: a @ part)
    else:
        total = _map(source, lambda part: part.new_zeros(rows, *part.shape[1:]).index_add(0, index, part))
    if not _is_zero(target):
        total = elementwise(torch.add, (target, total), {})
    return _become(target, total)


def _is_zero(x: LabelledFeatures) -> bool:
    """Whether x still is as :func:`new` made it: one number, zero, for all."""
    each, _ = origin(x)
    return each.dim() > 1 and not any(each.stride()) and bool(each.reshape(-1)[:1].sum() == 0)


def _summing(
    target: Tensor, source: Tensor, weight: Tensor | None, shape: tuple[int, int], dtype: torch.dtype
) -> SparseMatrix:
    """The matrix that takes the rows ``source`` and adds them to the rows ``target``."""
    base = target._base
    kept = cached(base) if base is not None and base is source._base and weight is None else {}
    key = ("summing", target.storage_offset(), source.storage_offset(), shape, dtype)
    if key not in kept:
        values = torch.ones(len(target), dtype=dtype) if weight is None else weight
        places = (target.numpy(), source.numpy())
        kept[key] = SparseMatrix(torch_csr(sp.csr_array((values.numpy(), places), shape), values))
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
    places = index.reshape(-1, *[1] * (each.dim() - 1)).expand_as(each)
    result = whole(target).contiguous().scatter_reduce(0, places, each, *args[4:], **kwargs)
    return _become(target, LabelledFeatures(result))


# Shapes


@handles("__getitem__")
def getitem(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, index = args
    if not mine(x) or mine(index):
        return NotImplemented
    if isinstance(index, Tensor) and index.dim() == 1:
        return _map(x, lambda part: part[index])
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
    """Along one dimension that is not the nodes'."""
    x, dim = _named(args, kwargs, "input", "dim")
    if func.__name__ == "norm" or not mine(x) or not isinstance(dim, int):
        return NotImplemented
    own = len(size_of(x)) + (func.__name__ == "unsqueeze")
    dim = dim % own
    if dim == 0 or own < 2:
        return NotImplemented
    keywords = {key: value for key, value in kwargs.items() if key not in ("input", "dim")}
    return LabelledFeatures(func(whole(x), dim + 1, *args[2:], **keywords))


@handles("cat concat stack")
def cat(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors, dim = _named(args, kwargs, "tensors", "dim")
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
