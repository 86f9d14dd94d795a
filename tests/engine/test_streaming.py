"""Predictions in a stream are those of the whole graph, whatever the pieces."""

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn.models import GAT, EdgeCNN, GraphSAGE
from torch_geometric.nn.models import GCN as PyGGCN
from torch_geometric.nn.models import GIN as PyGGIN

from clgnn.data.graph import Graph
from clgnn.data.stored import StoredGraph
from clgnn.engine import row_blocks
from clgnn.engine import streamed as streamed_module
from clgnn.engine.packed import Packed, codes
from clgnn.engine.propagation import propagation
from clgnn.engine.pyg_layers import has_layers
from clgnn.engine.row_blocks import row_block
from clgnn.engine.runner import Runner
from clgnn.engine.streamed import streamed
from clgnn.engine.streaming import outputs, outputs_at
from clgnn.nn import GCN, GIN, SAGE, ColumnNetwork, Krylov, NIPMean, Snowball

CPU = torch.device("cpu")
N, K, C = 70, 3, 4


def random_graph(weighted=False):
    generator = torch.Generator().manual_seed(3)
    edges = torch.randint(N, (2, 5 * N), generator=generator)
    edges = edges[:, (edges[0] != edges[1]) & (edges[1] != 7)].unique(dim=1)  # node 7 gathers from nobody
    weight = torch.rand(edges.size(1), generator=generator) + 0.5 if weighted else None
    return Graph(torch.rand(N, 5, generator=generator), edges, weight, (N,))


def one_hot():
    generator = torch.Generator().manual_seed(4)
    drawn = torch.randint(C + 1, (N, K), generator=generator)
    return Packed(drawn.to(torch.uint8), C)


OURS = {
    "gcn": lambda i: GCN(i, 8, 2),
    "gcn-3": lambda i: GCN(i, 8, 2, num_layers=3),
    "sym": lambda i: GCN(i, 8, 2, normalization="sym"),
    "sage": lambda i: SAGE(i, 8, 2),
    "sage-3": lambda i: SAGE(i, 8, 2, num_layers=3),
    "gin": lambda i: GIN(i, 8, 2),
    "gin-1": lambda i: GIN(i, 8, 2, num_layers=1),
    "gin-3": lambda i: GIN(i, 8, 2, num_layers=3),
    "snowball": lambda i: Snowball(i, 8, 2, num_layers=2),
    "krylov": lambda i: Krylov(i, 8, 2, num_layers=1),
    "nip": lambda i: NIPMean(i, 8, 2),
    "column": lambda i: ColumnNetwork(i, 8, 2, num_layers=2),
}
PYG = {
    "pyg-gcn": lambda i: PyGGCN(i, 8, 2, 2),
    "pyg-gcn-norm": lambda i: PyGGCN(i, 8, 2, 2, norm="batch_norm"),
    "pyg-sage": lambda i: GraphSAGE(i, 8, 3, 2),
    "pyg-sage-jk": lambda i: GraphSAGE(i, 8, 2, 2, jk="cat"),
    "pyg-gin": lambda i: PyGGIN(i, 8, 2, 2),
    "pyg-gat": lambda i: GAT(i, 8, 2, 2),
    "pyg-sage-3": lambda i: GraphSAGE(i, 8, 3, act="tanh", act_first=True, norm="batch_norm"),
    "pyg-gcn-improved": lambda i: PyGGCN(i, 8, 2, 2, improved=True),
    "pyg-gcn-last": lambda i: PyGGCN(i, 8, 2, 2, add_self_loops=False, jk="last"),
    "pyg-gin-lstm": lambda i: PyGGIN(i, 8, 2, 2, norm="batch_norm", jk="lstm"),
    "pyg-edge": lambda i: EdgeCNN(i, 8, 2, 2),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [*OURS, *PYG])
def test_a_stream_gives_what_memory_gives(name, weighted, monkeypatch):
    graph, labels = random_graph(weighted), one_hot()
    torch.manual_seed(0)
    runner = Runner((OURS | PYG)[name](5 + C).eval())
    large = streamed(graph, CPU)
    with torch.no_grad():
        z = runner.mean(graph, labels[:])
        head = nn.Linear(z.size(1), 3)
        expected = head(z)
        for most in (1, 13, 10**6):
            monkeypatch.setattr(streamed_module, "CHUNK_EDGES", most)
            for given in (labels, labels[:]):
                found = outputs(runner, head, large, given)
                torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        few = outputs_at(runner, head, large, torch.tensor([69, 7]), labels)
        torch.testing.assert_close(few, expected[[69, 7]], rtol=1e-4, atol=1e-5)


def test_loops_that_are_there_are_left_to_pyg():
    graph, labels = random_graph(), one_hot()
    loops = torch.tensor([3, 8]).expand(2, -1)
    graph = Graph(graph.x, torch.cat([graph.edge_index, loops], dim=1), None, (N,))
    runner, large = Runner(PyGGCN(5 + C, 8, 2, 2).eval()), streamed(graph, CPU)
    assert not has_layers(runner.gnn, large)
    with torch.no_grad():
        expected = runner.mean(graph, labels[:])
    torch.testing.assert_close(outputs(runner, nn.Identity(), large, labels), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["graph_norm", "pair_norm", "instance_norm"])
def test_statistics_of_all_nodes_are_refused(norm):
    runner = Runner(PyGGCN(5 + C, 8, 2, 2, norm=norm).eval())
    with pytest.raises(ValueError, match="all nodes at once"):
        outputs(runner, nn.Identity(), streamed(random_graph(), CPU), one_hot())


@pytest.mark.parametrize("name", ["gcn", "sage", "gin"])
def test_labels_that_do_not_fit_are_counted(name, monkeypatch):
    """One-hot labels need not be written out to be added up."""
    graph, labels = random_graph(weighted=True), one_hot()
    runner, large = Runner(OURS[name](5 + C).eval()), streamed(graph, CPU)
    expected = outputs(runner, nn.Identity(), large, labels)
    monkeypatch.setattr(row_blocks, "SMALL", 0)
    found = outputs(runner, nn.Identity(), large, one_hot())
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("normalization", ["row", "sym", "mean", "sum"])
def test_rows_are_those_of_the_whole_operator(normalization, weighted):
    graph = random_graph(weighted)
    whole = propagation(graph.edge_index, N, graph.edge_weight, normalization).csr.to_dense()
    for first, last in ((0, 1), (5, 9), (0, N)):
        block = row_block(streamed(graph, CPU), first, last, normalization)
        torch.testing.assert_close(block @ torch.eye(N), whole[first:last])


def test_what_is_packed_comes_back():
    labels = one_hot()
    assert torch.equal(codes(labels[:]), labels.codes)


def test_a_graph_in_files_gives_the_same_bits_and_leaves_no_file(tmp_path):
    graph, labels = random_graph(), one_hot()
    stored = streamed(graph, CPU).stored
    mapped = {}
    for name in ("indptr", "indices", "x", "y"):
        np.save(tmp_path / f"{name}.npy", getattr(stored, name))
        mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    runner = Runner(GIN(5 + C, 8, 2).eval())
    in_memory = outputs(runner, nn.Identity(), streamed(graph, CPU), labels)
    in_files = outputs(runner, nn.Identity(), streamed(StoredGraph(**mapped), CPU), labels)
    assert torch.equal(in_memory, in_files)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["indices.npy", "indptr.npy", "x.npy", "y.npy"]
