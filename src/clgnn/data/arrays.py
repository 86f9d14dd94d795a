"""Arrays that are written to ``.npy`` files block by block, and read as maps of those files."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

_LINE = 64
"""Bytes of a cache line."""


class ArrayWriter:
    """An ``.npy`` file that grows along its first axis; its header is right when it is closed.

    Args:
        path: the file; it is replaced.
        dtype: of the values.
        tail: the shape of one entry: ``()`` for a vector, ``(p,)`` for the rows of a matrix.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "x.npy"
        >>> with ArrayWriter(path, np.float32, (2,)) as file:
        ...     file.append(np.ones((3, 2)))
        >>> mapped(path).shape
        (3, 2)
    """

    def __init__(self, path: str | PathLike[str], dtype: DTypeLike, tail: tuple[int, ...] = ()) -> None:
        self.dtype, self.tail, self.length = np.dtype(dtype), tail, 0
        self._file = Path(path).open("wb")  # noqa: SIM115  (closed by __exit__)
        self._header()

    def _header(self) -> None:
        # numpy leaves room in the header for the first axis to grow, so that its length stays the same
        self._file.seek(0)
        description = npy.dtype_to_descr(self.dtype)
        shape = (self.length, *self.tail)
        npy.write_array_header_1_0(self._file, {"descr": description, "fortran_order": False, "shape": shape})

    def append(self, block: NDArray[Any]) -> None:
        """Adds entries ``[n, *tail]`` at the end."""
        values = np.ascontiguousarray(block, self.dtype)
        self._file.write(values.data.cast("B") if values.size else b"")
        self.length += len(values)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._header()
        self._file.close()


def mapped(path: str | PathLike[str]) -> NDArray[Any]:
    """The array of an ``.npy`` file, mapped to memory and read-only; an empty one is read."""
    try:
        found: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if "empty file" not in str(error):  # nothing can be mapped where there is nothing
            raise
        found = np.load(path, allow_pickle=False)
    return found


def shared(array: NDArray[Any]) -> Tensor:
    """An array as a tensor that shares its memory, also if it is mapped and can't be written to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the tensor must not be written to
        return torch.from_numpy(array)


def empty(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """A tensor to write to, whose rows are gathered fast in any order.

    It is numpy's memory, which comes in large pages where the system has them (torch's does not), and begins
    with a cache line (numpy's does not).

    Example:
        >>> empty((2, 3), torch.float32).shape
        torch.Size([2, 3])
    """
    size = math.prod(shape) * dtype.itemsize
    room = np.empty(size + _LINE, np.uint8)
    first = -room.ctypes.data % _LINE
    return torch.from_numpy(room[first : first + size]).view(dtype).view(*shape)
