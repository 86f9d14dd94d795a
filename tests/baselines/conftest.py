import os

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from clgnn import baselines, datasets, splits

# Little work for each method, so that all of them can be tried in all ways.
QUICK = {
    "max_epochs": 15,
    "hidden_channels": 8,
    "num_samples": 3,
    "num_iterations": 1,
    "num_rounds": 1,
    "num_layers": 2,
    "num_orders": 2,
    "edge_epochs": 15,
    "refine_epochs": 2,
    "C": 1.0,
    "smoothing": 1.0,
}


@pytest.fixture(params=list(baselines.METHODS))
def method(request):
    return request.param


@pytest.fixture
def make(method):
    """The method of this test, with little work to do."""
    return lambda **settings: baselines.make(method, **{**QUICK, **settings})


def ring(num_nodes=400, block=40, reach=3, loud=0.4, seed=0):
    """A ring in which neighbours agree: runs of nodes of class 3, then of class 7, and so on.

    A node's neighbours are the ``reach`` nodes on each side. The feature of a loud node is its class; that
    of the others says nothing. So a model of features alone is right on the loud nodes and on half of the
    others, and one that asks the neighbours can be right nearly everywhere.
    """
    rng = np.random.default_rng(seed)
    node = np.arange(num_nodes)
    y = np.where(node // block % 2, 7, 3)
    heard = rng.random(num_nodes) < loud
    x = np.stack([heard & (y == 3), heard & (y == 7)], axis=1)
    ends = np.concatenate([(node + step) % num_nodes for step in range(1, reach + 1)])
    starts = np.tile(node, reach)
    edges = torch.from_numpy(np.stack([np.r_[starts, ends], np.r_[ends, starts]]))
    return Data(x=torch.from_numpy(x.astype(np.float32)), edge_index=edges, y=torch.from_numpy(y))


@pytest.fixture(scope="session")
def graph():
    return ring()


@pytest.fixture(scope="session")
def other_graph():
    return ring(num_nodes=300, block=25, seed=1)


@pytest.fixture(scope="session")
def split(graph):
    return splits.random(graph, train_labels=80, observed_labels=80, test_nodes=120, val_nodes=60, seed=0)


@pytest.fixture(scope="session")
def cora(tmp_path_factory):
    if not os.environ.get("CLGNN_DATA") or not datasets.is_here("cora"):
        pytest.skip("Cora's files are not here: set CLGNN_DATA to their folder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLGNN_CACHE", str(tmp_path_factory.mktemp("cache")))
        return datasets.load("cora")
