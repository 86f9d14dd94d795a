"""Whether what came from a file is of the types that a dataclass declares."""

from __future__ import annotations

import math
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Made = TypeVar("Made")


def checked(made: Made) -> Made:
    """The same instance of a dataclass, if each of its fields is of the type that it declares.

    Raises:
        ValueError: if one is not. Numbers must be finite.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Column:
        ...     name: str
        ...     sizes: tuple[int, ...] = ()
        >>> checked(Column("age", (1, 2)))
        Column(name='age', sizes=(1, 2))
        >>> checked(Column("age", ("1",)))
        Traceback (most recent call last):
        ValueError: sizes is ('1',); expected tuple[int, ...]
    """
    hints = get_type_hints(type(made))
    for field in fields(made):  # type: ignore[arg-type]
        value = getattr(made, field.name)
        if not fits(value, hints[field.name]):
            said = repr(value)
            said = said if len(said) <= 60 else f"{said[:57]}..."
            hint = hints[field.name]
            expected = hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
            raise ValueError(f"{field.name} is {said}; expected {expected}")
    return made


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type: a class, a union of types, or a tuple of them.

    Example:
        >>> fits(1, float), fits(True, int), fits(None, str | None), fits(("a", 1), tuple[str, int])
        (True, False, True, True)
    """
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inside)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if inside[-1] is Ellipsis:
            return all(fits(one, inside[0]) for one in value)
        return len(value) == len(inside) and all(map(fits, value, inside))
    if hint is None or hint is NoneType:
        return value is None
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, hint)
