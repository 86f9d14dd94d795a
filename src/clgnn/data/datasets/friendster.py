"""Friendster-25K: an HDF5 file, whose first feature is the age that the paper predicts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from clgnn.data.datasets.edges import undirected
from clgnn.data.datasets.errors import DatasetError, unreadable
from clgnn.data.datasets.prepare import standardise
from clgnn.data.sparse import scipy_csr, torch_csr

Ages = Literal["gapless", "literal"]
_GROUP = {
    # the first age of the groups 0, 1, 2, ...; -1 is no group
    "gapless": ([1, 25, 31, 41, 51], [0, 1, 2, 3, 4]),
    "literal": ([1, 25, 31, 36, 41, 46, 51], [0, 1, -1, 2, -1, 3, 4]),
}


def parse(files: Mapping[str, Path]) -> dict[str, Tensor]:
    """The tables ``features`` [N, 644] and ``adjacency`` (N lists of neighbours)."""
    try:
        import h5py
    except ImportError as error:
        raise DatasetError(
            "Friendster is an HDF5 file, which needs h5py: pip install 'clgnn[datasets]'"
        ) from error
    (path,) = files.values()
    try:
        with h5py.File(path, "r") as file:
            if not {"adjacency", "features"} <= set(file):
                problem = f"it has only the tables {', '.join(file) or 'none'}"
                raise unreadable(path, problem, "the tables adjacency and features")
            for name in ("adjacency", "features"):
                if not isinstance(file.get(name, getlink=True), h5py.HardLink) or _elsewhere(file[name]):
                    raise unreadable(path, f"its table {name} lies in another file", "tables of its own")
            features, adjacency = file["features"][:], file["adjacency"][:]
    except OSError as error:
        raise unreadable(path, error, "an HDF5 file") from error
    starts = np.repeat(np.arange(len(adjacency)), [len(near) for near in adjacency])
    return {
        "x": torch_csr(sp.csr_array(features)),
        "edge_index": undirected((starts, np.concatenate(adjacency)), len(features), path),
    }


def _elsewhere(table: Any) -> bool:
    """Whether a table is none, or takes its values from other files."""
    return not hasattr(table, "external") or table.external is not None or bool(table.is_virtual)


def build(tensors: dict[str, Tensor], prepare: bool = True, ages: Ages = "gapless") -> Data:
    """``y`` [N] from the age in column 0, which is dropped; ``x`` [N, 643], z-scores or, unprepared, sparse.

    ``ages="gapless"`` has the groups 0-24, 25-30, 31-40, 41-50 and over 50; ``"literal"`` those that the
    paper prints, 0-24, 25-30, 36-40, 46-50 and over 50, and the ages between count as unknown.
    """
    if ages not in _GROUP:
        raise DatasetError(f"ages is {ages!r}; expected 'gapless' or 'literal'")
    first, group = _GROUP[ages]
    table = scipy_csr(tensors["x"])
    age = table[:, [0]].toarray().ravel()
    y = np.array([-1, *group])[np.digitize(age, first)]  # age 0 is unknown
    x = torch_csr(table[:, 1:])
    return Data(
        x=standardise(x) if prepare else x,
        edge_index=tensors["edge_index"],
        y=torch.from_numpy(y.astype(np.int64)),
    )
