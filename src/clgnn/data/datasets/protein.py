"""Protein: 84 graphs of PROTEINS_full, by the rule that gives the paper's 12679 nodes."""

import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import unbatch, unbatch_edge_index

from clgnn.data.datasets.edges import undirected
from clgnn.data.datasets.errors import unreadable
from clgnn.data.datasets.prepare import standardise

MORE_THAN = 85  # nodes


def parse(files: Mapping[str, Path]) -> dict[str, Tensor]:
    """The graphs with more than 85 nodes of which none has label 2, in the file's order."""
    (path,) = files.values()
    table = _tables(path)
    graph, label, edges = table["graph_indicator"], table["node_labels"], table["A"] - 1
    keep = (np.bincount(graph)[graph] > MORE_THAN) & ~np.isin(graph, graph[label == 2])
    place = np.cumsum(keep) - 1
    row, col = place[edges[keep[edges].all(axis=1)]].T
    return {
        "x": torch.from_numpy(table["node_attributes"][keep].astype(np.float32)),
        "y": torch.from_numpy(label[keep]),
        "edge_index": undirected((row, col), int(keep.sum()), path),
        "graph": torch.from_numpy(np.unique(graph[keep], return_inverse=True)[1]),
    }


def build(tensors: dict[str, Tensor], prepare: bool = True) -> list[Data]:
    """84 graphs with ``x`` [N_i, 29], by ``prepare`` as z-scores over the nodes of all of them."""
    x, graph = tensors["x"], tensors["graph"]
    columns = (
        unbatch(standardise(x) if prepare else x, graph),
        unbatch_edge_index(tensors["edge_index"], graph),
        unbatch(tensors["y"], graph),
    )
    return [Data(x=x, edge_index=edges.contiguous(), y=y) for x, edges, y in zip(*columns, strict=True)]


def _tables(path: Path) -> dict[str, NDArray[Any]]:
    """The text tables of a TU zip by name. It is read in place; nothing is unpacked."""
    kinds: dict[str, type] = {"A": int, "graph_indicator": int, "node_labels": int, "node_attributes": float}
    try:
        with zipfile.ZipFile(path) as archive:
            members = {
                PurePosixPath(name).stem.removeprefix("PROTEINS_full_"): name for name in archive.namelist()
            }
            outside = [
                name
                for name in archive.namelist()
                if name.startswith("/") or ".." in PurePosixPath(name).parts
            ]
            if outside:
                raise ValueError(f"its member {outside[0]!r} points out of the folder")
            return {
                kind: np.loadtxt(archive.open(members[kind]), dtype=dtype, delimiter=",")
                for kind, dtype in kinds.items()
            }
    except KeyError as error:
        problem = f"it has no table {error}"
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        problem = str(error)
    raise unreadable(path, problem, "the TU zip of PROTEINS_full")
