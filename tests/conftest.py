"""Tiny graphs with known answers, and the seeds of everything."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

torch.set_num_threads(1)  # tiny graphs: threads would only wait for each other


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
