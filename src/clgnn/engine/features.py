"""[X | Y_k] for all K samples at once, for any module, without K copies of X.

:class:`LabelledFeatures` looks like the input ``[N, p + C]`` of one sample and stands for all K. An operation
on it is done on all samples at once: in memory it is ``[N, K, C]``, nodes first, beside one X ``[N, p]`` that
all samples share, until a first linear layer maps both to ``[N, K, h]``. What each operation does is in
:mod:`~clgnn.engine.elementwise`, :mod:`~clgnn.engine.products` and :mod:`~clgnn.engine.rows`; one that is not
known there is done on one sample after the other. So every module is computed exactly, and most are computed
fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor

from clgnn.data.derived import derived
from clgnn.engine.attention import rows_to_edges

Handler: TypeAlias = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

HANDLERS: dict[str, Handler] = {}
"""By the name of the operation: NotImplemented if the handler can't do it, Unsupported if nothing can."""


def handles(names: str) -> Callable[[Handler], Handler]:
    """Registers what a function does for the operations of these names."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(names.split(), handler))
        return handler

    return register


off = torch._C.DisableTorchFunctionSubclass

# What a module may ask without touching the values.
_METADATA = frozenset(
    """
    size dim shape dtype device layout ndim numel ndimension __len__ __hash__ _version requires_grad is_leaf
    grad_fn is_sparse is_sparse_csr is_cuda is_cpu is_meta is_nested is_quantized is_complex is_floating_point
    is_contiguous get_device
    """.split()  # noqa: SIM905
)


class Unsupported(RuntimeError):
    """A module does something that can't be done for all samples at once."""


class LabelledFeatures(torch.Tensor):
    """K samples of a tensor that is ``[N, ...]`` for one of them.

    Args:
        each: the samples, ``[N, K, ...]``; ``[K]`` for one scalar per sample.
        shared: what stands before them in the last dimension and is the same for all, ``[N, p]``, or None.

    Example:
        >>> import torch
        >>> x, labels = torch.rand(4, 3), torch.rand(4, 10, 2)
        >>> features = LabelledFeatures(labels, x)
        >>> features.shape
        torch.Size([4, 5])
        >>> whole(torch.nn.Linear(5, 8)(features)).shape
        torch.Size([4, 10, 8])
    """

    each: Tensor | None
    shared: Tensor | None
    # rows of another that are yet to be taken: of which, which rows, and a weight for each, which may be one
    # for each sample
    gathered: tuple[LabelledFeatures, Tensor, Tensor | None] | None
    # two factors that are yet to be multiplied: both are such rows, or the second is one row for all
    paired: tuple[LabelledFeatures, Tensor] | None

    @staticmethod
    def __new__(cls, each: Tensor, shared: Tensor | None = None) -> LabelledFeatures:
        size = list(each.shape)
        del size[min(1, each.dim() - 1)]
        if shared is not None:
            size[-1] += shared.size(-1)
        self = _blank(cls, size, each)
        self.each, self.shared = each, shared
        return self

    @staticmethod
    def rows(source: LabelledFeatures, index: Tensor, weight: Tensor | None = None) -> LabelledFeatures:
        """Rows of another one, which are not written out until they are needed."""
        self = _blank(LabelledFeatures, (len(index), *size_of(source)[1:]), origin(source)[0])
        self.gathered = (source, index, weight)
        return self

    @staticmethod
    def product(one: LabelledFeatures, other: Tensor) -> LabelledFeatures:
        """The product of rows with others, or with one row for all, which is not written out until needed."""
        self = _blank(LabelledFeatures, size_of(one), origin(one)[0])
        self.paired = (one, other)
        return self

    def __init__(self, *arguments: Any) -> None:
        pass

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"LabelledFeatures({tuple(size_of(self))}, {num_samples(self)} samples)"

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        asked = func.__self__.__name__ if name == "__get__" else name  # type: ignore[attr-defined]
        if asked in _METADATA:
            with off():
                return func(*args, **kwargs)
        handler = HANDLERS.get(asked)
        result = NotImplemented if handler is None else handler(func, args, kwargs)
        return _one_by_one(func, asked, args, kwargs) if result is NotImplemented else result

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise Unsupported(f"{func} below torch's own functions")


def _blank(cls: type[LabelledFeatures], size: Any, like: Tensor) -> LabelledFeatures:
    with off():
        self: LabelledFeatures = torch.Tensor._make_wrapper_subclass(
            cls, size, dtype=like.dtype, device=like.device
        )
    self.each = self.shared = self.gathered = self.paired = None
    return self


def mine(value: Any) -> bool:
    return isinstance(value, LabelledFeatures)


def size_of(x: Tensor) -> torch.Size:
    with off():
        return x.size()


def origin(x: LabelledFeatures) -> tuple[Tensor, Tensor | None]:
    """Both parts of x, or of what its rows are taken from."""
    while x.each is None:
        before = x.gathered or x.paired
        assert before is not None
        x = before[0]
    return x.each, x.shared


def num_samples(x: LabelledFeatures) -> int:
    """K."""
    each, _ = origin(x)
    return each.size(min(1, each.dim() - 1))


def dense(x: Tensor) -> Tensor:
    """A shared part as a dense tensor, made once."""
    if x.layout == torch.strided:
        return x
    made = derived(x)
    if "dense" not in made:
        made["dense"] = x.to_dense()
    result: Tensor = made["dense"]
    return result


def taken(x: LabelledFeatures) -> LabelledFeatures:
    """x with its rows written out."""
    if x.paired is not None:
        one, other = x.paired
        factor = whole(other) if isinstance(other, LabelledFeatures) else other.unsqueeze(1)
        x.each, x.paired = whole(one) * factor, None
    elif x.gathered is not None and isinstance(of_sample := x.gathered[2], LabelledFeatures):
        source, index, _ = x.gathered
        x.each, x.gathered = rows_to_edges(whole(source), index) * whole(of_sample), None
    elif x.gathered is not None:
        source, index, weight = x.gathered
        source = taken(source)

        def take(part: Tensor) -> Tensor:
            rows = rows_to_edges(part, index)
            return rows if weight is None else rows * weight.view(-1, *[1] * (part.dim() - 1))

        assert source.each is not None
        x.each = take(source.each)
        x.shared = None if source.shared is None else take(dense(source.shared))
        x.gathered = None
    return x


def whole(x: LabelledFeatures) -> Tensor:
    """All samples, ``[N, K, ...]``, each with the shared part: K copies of X, if it is still apart."""
    x = taken(x)
    assert x.each is not None
    if x.shared is None:
        return x.each
    shared = dense(x.shared).unsqueeze(1).expand(-1, x.each.size(1), -1)
    return torch.cat([shared, x.each], dim=-1)


def mapped(x: LabelledFeatures, function: Callable[[Tensor], Tensor]) -> LabelledFeatures:
    """An operation that does the same to each row, or to each element: it is done on both parts."""
    x = taken(x)
    assert x.each is not None
    return LabelledFeatures(function(x.each), None if x.shared is None else function(dense(x.shared)))


def become(x: LabelledFeatures, result: LabelledFeatures) -> LabelledFeatures:
    """The end of an operation in place."""
    if size_of(x) != size_of(result):
        raise Unsupported("an operation in place that changes the size")
    x.each, x.shared, x.gathered, x.paired = result.each, result.shared, result.gathered, result.paired
    return x


def named(args: tuple[Any, ...], kwargs: dict[str, Any], *names: str) -> list[Any]:
    """Arguments by position or by name; None for one that was not given."""
    return [args[i] if i < len(args) else kwargs.get(name) for i, name in enumerate(names)]


def _one_by_one(func: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Any operation, on one sample after the other."""
    if (name.endswith("_") and not name.endswith("__")) or name in ("__setitem__", "__set__", "backward"):
        raise Unsupported(f"{name} in place")
    values: dict[int, Tensor] = {}

    def pick(value: Any, k: int) -> Any:
        if isinstance(value, LabelledFeatures):
            each = values.setdefault(id(value), whole(value))
            return each.select(min(1, each.dim() - 1), k)
        if type(value) in (list, tuple):
            return type(value)(pick(item, k) for item in value)
        return value

    count = next(num_samples(value) for value in _flat((args, tuple(kwargs.values()))))
    results = []
    for k in range(count):
        keywords = {key: pick(value, k) for key, value in kwargs.items()}
        results.append(func(*pick(args, k), **keywords))
    return _joined(results)


def _flat(value: Any) -> list[LabelledFeatures]:
    if isinstance(value, LabelledFeatures):
        return [value]
    return [found for item in value for found in _flat(item)] if type(value) in (list, tuple) else []


def _joined(results: list[Any]) -> Any:
    first = results[0]
    if isinstance(first, Tensor):
        return LabelledFeatures(torch.stack(results, dim=min(1, first.dim())))
    if isinstance(first, list | tuple):
        return tuple(_joined(list(part)) for part in zip(*results, strict=True))
    if any(result != first for result in results):
        raise Unsupported(f"a value that differs from sample to sample: {first!r}")
    return first
