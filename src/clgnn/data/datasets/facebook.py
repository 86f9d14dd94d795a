"""Facebook: the paper's own files, never published, and Facebook100's Johns Hopkins in their place."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder
from torch import Tensor
from torch_geometric.data import Data

from clgnn.data.datasets.edges import undirected
from clgnn.data.datasets.errors import DatasetError, unreadable
from clgnn.data.sparse import torch_csr


def parse(files: Mapping[str, Path]) -> dict[str, Tensor]:
    """The paper's graph: ``fb.edgelist.npy`` [E, 2], ``fb.labels.npy`` [N], ``fb.attrs.npy`` [N, p]."""
    edges, labels, attributes = (_array(files[f"fb.{part}.npy"]) for part in ("edgelist", "labels", "attrs"))
    if edges.ndim != 2 or edges.shape[1] != 2 or labels.ndim != 1 or attributes.shape[:1] != labels.shape:
        raise DatasetError(
            f"fb.edgelist.npy is {edges.shape}, fb.labels.npy {labels.shape}, fb.attrs.npy "
            f"{attributes.shape}; expected [E, 2], [N] and [N, p]: put the three files of one graph there"
        )
    return {
        "x": torch.from_numpy(attributes.reshape(len(labels), -1).astype(np.float32)),
        "y": torch.from_numpy(labels.astype(np.int64)),
        "edge_index": undirected((edges[:, 0], edges[:, 1]), len(labels), files["fb.edgelist.npy"]),
    }


def build(tensors: dict[str, Tensor], prepare: bool = True) -> Data:
    """The attributes as they are, which is what the paper's code takes; there is nothing to prepare."""
    return Data(x=tensors["x"], edge_index=tensors["edge_index"], y=tensors["y"])


def parse_school(files: Mapping[str, Path]) -> dict[str, Tensor]:
    """A ``.mat`` file of Facebook100: the adjacency ``A``, the table ``local_info`` [N, 7], 0 for missing."""
    (path,) = files.values()
    try:
        content = scipy.io.loadmat(path, variable_names=["A", "local_info"])
        friends, table = content["A"].tocoo(), content["local_info"].astype(np.int64)
    except Exception as error:  # SciPy raises what it meets
        problem = f"{type(error).__name__} {error}"
        raise unreadable(path, problem, "a .mat file with A and local_info") from error
    return {
        "table": torch.from_numpy(table),
        "edge_index": undirected((friends.row, friends.col), len(table), path),
    }


def build_school(tensors: dict[str, Tensor], prepare: bool = True, target: str = "gender") -> Data:
    """``y`` the gender, -1 for unknown; ``x`` status, major, second major, dorm, year and high school.

    By ``prepare`` each of them is one-hot, sparse CSR, with no column for what is missing; else the codes.
    With ``target="year"``, ``y`` is the year of graduation, a number, NaN for unknown, and the gender is
    among the attributes in its place.
    """
    if target not in (places := {"gender": 1, "year": 5}):
        raise DatasetError(f"target is {target!r}; expected gender or year")
    table = tensors["table"].numpy()
    codes = np.delete(table, places[target], axis=1)
    x = torch.from_numpy(codes.astype(np.float32))
    if prepare:
        known = [np.setdiff1d(column, [0]) for column in codes.T]
        x = torch_csr(OneHotEncoder(categories=known, handle_unknown="ignore").fit_transform(codes))
    found = tensors["table"][:, places[target]]
    y = found - 1 if target == "gender" else torch.where(found > 0, found.double(), torch.nan)
    return Data(x=x, edge_index=tensors["edge_index"], y=y)


def _array(path: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (ValueError, EOFError) as error:
        raise unreadable(path, error, "a plain .npy array, without pickled objects") from error
