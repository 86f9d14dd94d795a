"""Tiny graphs with known answers, and the seeds of everything."""

import gc
import os
from collections.abc import Callable

import pandas as pd
import pytest
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from clgnn.data.datasets import FACEBOOK100

torch.set_num_threads(1)  # tiny graphs: threads would only wait for each other
os.environ["OMP_NUM_THREADS"] = "1"  # so in the processes that tests start
threadpool_limits(1)  # those of numpy and scikit-learn too


def pytest_collection_finish() -> None:
    """What was imported stays: each trial collects garbage when it ends, and need not look through all that."""
    gc.collect()
    gc.freeze()


def make_graph(num_nodes: int = 24, num_features: int = 5, num_classes: int = 3, seed: int = 0) -> Data:
    """A random connected graph: a ring with chords, class-dependent features."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(num_classes, (num_nodes,), generator=generator)
    y[:num_classes] = torch.arange(num_classes)
    x = torch.randn(num_nodes, num_features, generator=generator)
    x[torch.arange(num_nodes), y % num_features] += 1.0
    ring = torch.arange(num_nodes)
    edges = torch.stack([ring, ring.roll(-1)])
    chords = torch.randint(num_nodes, (2, num_nodes), generator=generator)
    return Data(x=x, edge_index=to_undirected(torch.cat([edges, chords[:, chords[0] != chords[1]]], 1)), y=y)


@pytest.fixture
def graph() -> Data:
    return make_graph()


@pytest.fixture
def new_graph() -> Callable[..., Data]:
    return make_graph


def nodes(*indices: int, size: int = 24) -> Tensor:
    return torch.zeros(size, dtype=torch.bool).index_fill_(0, torch.tensor(indices), True)


@pytest.fixture
def train() -> Tensor:
    return nodes(*range(10))


@pytest.fixture
def val() -> Tensor:
    return nodes(*range(10, 16))


@pytest.fixture
def test() -> Tensor:
    return nodes(*range(16, 24))


def make_trials(values: dict[tuple[str, int, int, str], list[float]]) -> pd.DataFrame:
    """A ledger's frame: the accuracies of a cell (dataset, training labels, percent, method), a trial each.

    Balanced accuracy is 10 points lower; boosted trials have two iterations, and all are calibrated but for
    the plain ones, which are 20 points too sure.
    """
    rows = []
    for (dataset, train_labels, percent, method), accuracies in values.items():
        boosted = "+cl" in method
        for trial, accuracy in enumerate(accuracies):
            rows.append(
                {
                    "key": f"{len(rows)}",
                    "dataset": dataset,
                    "train_labels": train_labels,
                    "test_label_percent": percent,
                    "method": method,
                    "trial": trial,
                    "settings": {"num_iterations": 2 * boosted},
                    "status": "done",
                    "error": None,
                    "validation": accuracy,
                    "iterations": [accuracy - 0.2, accuracy - 0.1, accuracy] if boosted else None,
                    "reliability": {
                        "confidence": [None, 0.4, 0.9],
                        "accuracy": [None, 0.4 - 0.2 * (not boosted), 0.9 - 0.2 * (not boosted)],
                        "count": [0, 10, 30],
                    },
                    "predictions": None,
                    "seconds": 60.0 if boosted else 6.0,
                    "predict_seconds": 0.1,
                    "peak_memory": 500.0 + trial,
                    "versions": {},
                    "revision": "0",
                    "finished": "2026-01-01T00:00:00+00:00",
                    "accuracy": accuracy,
                    "balanced_accuracy": accuracy - 0.1,
                }
            )
    return pd.DataFrame(rows)


@pytest.fixture
def new_trials() -> Callable[..., pd.DataFrame]:
    return make_trials


@pytest.fixture
def tiny_trials() -> pd.DataFrame:
    """Three trials in some cells of every table."""
    fb = FACEBOOK100
    return make_trials(
        {
            ("cora", 85, 0, "gcn"): [0.50, 0.52, 0.48],
            ("cora", 85, 0, "gcn+cl"): [0.55, 0.57, 0.535],
            ("cora", 85, 0, "gcn+cl-uniform"): [0.49, 0.53, 0.46],
            ("cora", 85, 0, "ica"): [0.40, 0.30, 0.35],
            ("cora", 85, 0, "my_own"): [0.30, 0.31, 0.32],
            ("cora", 85, 50, "gcn"): [0.50, 0.52, 0.48],
            ("cora", 85, 50, "gcn+cl"): [0.65, 0.66],
            ("cora", 85, 50, "gcn+cl-observed"): [0.60, 0.61, 0.59],
            ("cora", 85, 50, "gnn_all_labels"): [0.80, 0.81, 0.82],
            ("cora", 105, 0, "gcn"): [0.60, 0.62, 0.61],
            ("cora", 105, 0, "gcn+cl"): [0.66, 0.67, 0.68],
            ("friendster", 641, 0, "tk"): [0.40, 0.41, 0.42],
            ("friendster", 641, 0, "tk+cl"): [0.41, 0.43, 0.42],
            (fb, 80, 0, "sage"): [0.60, 0.61, 0.62],
        }
    )
