"""A stored graph as PyG's tools read it."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import NodeLoader
from torch_geometric.sampler import BaseSampler, SamplerOutput

from clgnn.data.pyg import EDGE, Stores, shared
from clgnn.data.stored import stored

GRAPH = stored(
    Data(
        x=torch.arange(8.0).view(4, 2),
        edge_index=torch.tensor([[0, 2, 3, 1], [1, 1, 0, 2]]),
        y=torch.tensor([0, 1, -1, 1]),
    )
)


class Sources(BaseSampler):
    """All sources of the edges into the seeds, from the graph store alone."""

    def __init__(self, store):
        self.row, self.colptr = store.get_edge_index(EDGE, "csc")

    def sample_from_edges(self, index, neg_sampling=None):
        raise NotImplementedError

    def sample_from_nodes(self, index, **_):
        seeds = index.node
        nodes, edges = seeds.tolist(), []
        for place, seed in enumerate(seeds.tolist()):
            for source in self.row[self.colptr[seed] : self.colptr[seed + 1]].tolist():
                if source not in nodes:
                    nodes.append(source)
                edges.append((nodes.index(source), place))
        row, col = torch.tensor(edges).T
        return SamplerOutput(torch.tensor(nodes), row, col, None, metadata=(index.input_id, None))


def test_a_loader_of_pyg_reads_it():
    stores = Stores(GRAPH)
    batch = next(iter(NodeLoader((stores, stores), Sources(stores), torch.tensor([1, 0]), batch_size=2)))
    assert batch.n_id.tolist() == [1, 0, 2, 3]
    assert batch.x.tolist() == GRAPH.x[[1, 0, 2, 3]].tolist()
    assert batch.y.tolist() == [1, 0, -1, 1]
    assert batch.edge_index.tolist() == [[1, 2, 3], [0, 0, 1]]


def test_whole_tensors_and_other_layouts():
    stores = Stores(GRAPH)
    assert stores.get_tensor(None, "x", None).tolist() == GRAPH.x.tolist()
    assert stores.get_tensor(None, "y", slice(1, 3)).tolist() == [1, -1]
    assert stores.get_tensor_size(None, "x") == (4, 2)
    row, col, _ = stores.coo()
    found = set(zip(row[EDGE].tolist(), col[EDGE].tolist(), strict=True))
    assert found == {(0, 1), (2, 1), (3, 0), (1, 2)}


def test_it_can_not_be_written_to():
    stores = Stores(GRAPH)
    with pytest.raises(ValueError, match="can't be written to"):
        stores.put_tensor(torch.ones(4, 2), None, "x", index=None)
    with pytest.raises(KeyError):
        stores.get_edge_index(("a", "to", "b"), "csc")


def test_mapped_arrays_are_shared_in_silence(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3))
    assert shared(np.load(tmp_path / "a.npy", mmap_mode="r")).tolist() == [0, 1, 2]
