"""Elementwise operations on :class:`~clgnn.engine.features.LabelledFeatures`, all samples at once.

The part that all samples share stays separate in operations that treat every column alike.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from clgnn.engine.dropout import dropout
from clgnn.engine.features import (
    LabelledFeatures,
    Unsupported,
    become,
    dense,
    handles,
    mapped,
    mine,
    named,
    origin,
    size_of,
    taken,
    whole,
)

_UNARY = """
    relu leaky_relu elu selu celu gelu silu mish hardswish hardtanh relu6 softplus sigmoid logsigmoid tanh
    exp log log1p expm1 sqrt rsqrt abs neg negative square reciprocal sin cos erf clamp clamp_min clamp_max
    clip __neg__ detach clone contiguous float double nan_to_num positive sign
"""
_BINARY = """
    add sub subtract mul multiply div divide true_divide pow maximum minimum eq ne lt le gt ge where rsub
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __pow__ __rpow__
    __truediv__ __rtruediv__ __rdiv__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__
"""
_PRODUCTS = {"mul", "multiply", "__mul__", "__rmul__"}
_IN_PLACE = {"__iadd__": torch.add, "__isub__": torch.sub, "__imul__": torch.mul, "__itruediv__": torch.div}


@handles(f"{_UNARY} {_BINARY}")
def elementwise(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The first way that fits: a weight kept with rows, the two parts apart, or all samples written out."""
    if kwargs.get("inplace"):
        return become(args[0], elementwise(func, args, {**kwargs, "inplace": False}))
    if any(isinstance(value, Tensor) for value in kwargs.values()):
        return NotImplemented
    dim = max(len(size_of(value)) for value in args if mine(value))
    if any(isinstance(value, Tensor) and value.dim() > dim for value in args):
        return NotImplemented
    result: Any = _weighted_rows(args) if func.__name__ in _PRODUCTS else NotImplemented
    if result is NotImplemented:
        result = _by_parts(func, args, kwargs)
    if result is NotImplemented:
        result = LabelledFeatures(func(*(_aligned(value, dim) for value in args), **kwargs))
    return result


@handles(" ".join([*_IN_PLACE, *(f"{name}_" for name in (_UNARY + _BINARY).split() if name[0] != "_")]))
def in_place(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same operation, whose result takes the place of its first operand."""
    name = func.__name__
    plain = _IN_PLACE.get(name) or getattr(torch, name[:-1], None) or getattr(F, name[:-1], None)
    if plain is None or not mine(args[0]):
        raise Unsupported(f"{name} of a tensor that is the same for all samples")
    return become(args[0], elementwise(plain, args, kwargs))


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
    if None in widths or len(widths) > 1 or not all(_alike_in_columns(value) for value in args):
        return NotImplemented
    each = func(*(value.each if mine(value) else _aligned(value, 2) for value in args), **kwargs)
    shared = func(*(dense(value.shared) if mine(value) else value for value in args), **kwargs)
    return LabelledFeatures(each, shared)


def _alike_in_columns(value: Any) -> bool:
    """Whether an operand is the samples themselves, a number, or one number per row."""
    return mine(value) or not isinstance(value, Tensor) or value.dim() == 0 or value.size(-1) == 1


def _weighted_rows(args: tuple[Any, ...]) -> Any:
    """Rows that are yet to be taken, times a weight for each, or one row for all: both are kept."""
    if all(mine(value) for value in args):
        return _attention(*args)
    x, weight = args if mine(args[0]) else args[::-1]
    if isinstance(weight, Tensor) and weight.shape == (1, *size_of(x)[1:]) and origin(x)[1] is None:
        return LabelledFeatures.product(x, weight)
    if not isinstance(weight, Tensor) or x.gathered is None or x.gathered[2] is not None:
        return NotImplemented
    size = size_of(x)
    if weight.requires_grad or weight.shape != (size[0], *[1] * (len(size) - 1)):
        return NotImplemented
    return LabelledFeatures.rows(x.gathered[0], x.gathered[1], weight.reshape(-1))


def _attention(one: LabelledFeatures, other: LabelledFeatures) -> Any:
    """Rows yet to be taken times others, or times a weight for each sample: not written out either."""
    rows = [x for x in (one, other) if _plain_rows(x)]
    if len(rows) == 2 and size_of(one) == size_of(other):
        return LabelledFeatures.product(one, other)
    if len(rows) != 1:
        return NotImplemented
    (x,), weight = rows, other if rows[0] is one else one
    if size_of(weight) != (*size_of(x)[:-1], 1) or size_of(x)[-1] == 1:
        return NotImplemented
    assert x.gathered is not None
    return LabelledFeatures.rows(x.gathered[0], x.gathered[1], weight)


def _plain_rows(x: LabelledFeatures) -> bool:
    """Whether these are rows yet to be taken, without weights, of something that no part is shared of."""
    taken_of = x.gathered is not None and x.gathered[2] is None and origin(x)[1] is None
    return taken_of and origin(x)[0].is_floating_point() and origin(x)[0].device.type == "cpu"


@handles("dropout")
def drop(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Each sample drops elements of its own; the shared part drops the same ones in all."""
    x, p, training, inplace = named(args, kwargs, "input", "p", "training", "inplace")
    p, training = 0.5 if p is None else p, True if training is None else training
    result = mapped(x, lambda part: dropout(part, p, training)) if training and p > 0 else x
    return become(x, result) if inplace else result


@handles("expand_as")
def expand_as(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What is to be combined with the samples is not written out for each: it broadcasts."""
    value, _ = args
    return NotImplemented if mine(value) else value
