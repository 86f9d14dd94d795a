"""Old pickles read as plain data: no name in the file is ever imported, nothing in it can run.

The Planetoid and CSL files, and an object array in an ``.npz``, are pickles of NumPy arrays and SciPy
matrices. Here every class that such a file may name is replaced by an inert record of what the file says of
it, from which the arrays are then built and checked. Any other name is refused.
"""

import io
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from clgnn.data.datasets.errors import DatasetError, unreadable


class _Record:
    """What a file says of an object: its arguments and its state."""

    def __new__(cls, *args: Any) -> "_Record":
        record = super().__new__(cls)
        record.args, record.state = args, None
        return record

    args: tuple[Any, ...]
    state: Any

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _DType(_Record):
    def plain(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = np.dtype(self.args[0]).newbyteorder(self.state[1])
        return dtype


class _Array(_Record):
    def plain(self) -> Any:
        _, shape, dtype, fortran, content = self.state
        kind = dtype.plain()
        if kind.kind == "O":
            return [_plain(item) for item in content]
        if kind.kind not in "biuf":
            raise ValueError(f"an array of type {kind}")
        content = content.encode("latin1") if isinstance(content, str) else content
        return np.frombuffer(content, kind).reshape(shape, order="F" if fortran else "C")


class _Matrix(_Record):
    def plain(self) -> sp.csr_array:
        """CSR or COO, told by its parts; SciPy checks that the indices fit the shape."""
        part = {name: _plain(value) for name, value in self.state.items()}
        if "indptr" in part:
            matrix = sp.csr_array((part["data"], part["indices"], part["indptr"]), shape=part["_shape"])
            matrix.check_format(full_check=True)
            return matrix
        ends = part["coords"] if "coords" in part else (part["row"], part["col"])  # newer and older SciPy
        return sp.csr_array(sp.coo_array((part["data"], ends), shape=part["_shape"]))


def _latin1(text: str, encoding: str) -> bytes:
    """Stands for ``_codecs.encode``, by which Python 3 writes bytes for Python 2."""
    if encoding != "latin1":
        raise ValueError(f"bytes in the encoding {encoding!r}")
    return text.encode("latin1")


class _Unpickler(pickle.Unpickler):
    allowed: ClassVar[dict[tuple[str, str], Any]] = {
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _DType,
        ("numpy.core.multiarray", "_reconstruct"): _Array,
        ("numpy._core.multiarray", "_reconstruct"): _Array,
        ("scipy.sparse.csr", "csr_matrix"): _Matrix,
        ("scipy.sparse._csr", "csr_matrix"): _Matrix,
        ("scipy.sparse.coo", "coo_matrix"): _Matrix,
        ("scipy.sparse._coo", "coo_matrix"): _Matrix,
        ("collections", "defaultdict"): defaultdict,
        ("__builtin__", "list"): list,
        ("builtins", "list"): list,
        ("_codecs", "encode"): _latin1,
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.allowed[module, name]
        except KeyError:
            raise DatasetError(
                f"it asks for {module}.{name}, which no dataset needs, and was not run"
            ) from None


def _plain(item: Any) -> Any:
    if isinstance(item, list | tuple):
        return type(item)(_plain(entry) for entry in item)
    return item.plain() if isinstance(item, _DType | _Array | _Matrix) else item


def loads(content: bytes, origin: str | Path) -> Any:
    """The arrays, ``csr_array``s, lists and dicts of a pickle; ``origin`` is for the message."""
    try:
        return _plain(_Unpickler(io.BytesIO(content), encoding="latin1").load())
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise unreadable(origin, reason, "a pickle of arrays") from error


def load(path: Path) -> Any:
    """What :func:`loads` gives, for a file."""
    return loads(path.read_bytes(), path)


def load_object_array(path: Path, name: str) -> list[NDArray[Any]]:
    """The object array ``name`` of an ``.npz``, as a list, without NumPy's ``allow_pickle``."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            member = archive.zip.read(f"{name}.npy")
        stream = io.BytesIO(member)
        np.lib.format.read_magic(stream)
        np.lib.format.read_array_header_1_0(stream)
    except Exception as error:
        raise unreadable(path, error, f"an .npz with the array {name}") from error
    return list(loads(stream.read(), path))
