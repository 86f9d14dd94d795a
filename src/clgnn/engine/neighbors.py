"""The part of a large graph that the outputs at a few nodes depend on, all of it or sampled."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import NodeLoader
from torch_geometric.nn import MessagePassing
from torch_geometric.sampler import BaseSampler, NodeSamplerInput, SamplerOutput

from clgnn.data.graph import Graph
from clgnn.engine.runner import OF_EDGES, Runner
from clgnn.engine.streamed import Streamed

ALL = -1
"""As a number of neighbours: all of them."""


class Field(NamedTuple):
    """A part of a graph around a few nodes.

    Attributes:
        graph: the part, on the device.
        nodes: its nodes, ``[n]``, as indices into the graph's; those that were asked for come first.
        asked: how many these are.
        hops: how many of its nodes are 0, 1, .. hops away from them; nodes come in this order.
    """

    graph: Graph
    nodes: Tensor
    asked: int
    hops: Sequence[int]


@dataclass(eq=False)
class Neighbors(BaseSampler):  # type: ignore[misc]
    """A sampler for PyG's loaders: hop by hop, some or all of the edges into the nodes of the hop before.

    Every node's neighbours are drawn once, without replacement.

    Args:
        graph: rows of sources.
        fanouts: how many neighbours of each node, for each hop; :data:`ALL` for all.
        key: where the randomness comes from; with it, the first of the ``input_id`` of a batch.

    Example:
        >>> from clgnn.engine.streamed import streamed
        >>> line = Graph(torch.ones(4, 1), torch.tensor([[0, 1, 2], [1, 2, 3]]), None, (4,))
        >>> sampler = Neighbors(streamed(line, torch.device("cpu")), [ALL, ALL])
        >>> sampler.sample_from_nodes(NodeSamplerInput(torch.tensor([0]), torch.tensor([3]))).node
        tensor([3, 2, 1])
    """

    graph: Streamed
    fanouts: Sequence[int]
    key: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self._place: NDArray[np.int64] | None = None  # of each node in the part, or -1

    def sample_from_nodes(self, index: NodeSamplerInput, **keywords: Any) -> SamplerOutput:
        if self._place is None:
            self._place = np.full(self.graph.num_nodes, -1)
        place, stored = self._place, self.graph.stored
        first = int(index.input_id[0]) if len(index.input_id) else 0
        generator = np.random.default_rng([*self.key, first])
        hop = index.node.numpy()
        place[hop] = np.arange(len(hop))
        nodes, rows, columns, edges = [hop], [], [], []
        count = len(hop)
        for fanout in self.fanouts:
            begin, degree = stored.indptr[hop], stored.indptr[hop + 1] - stored.indptr[hop]
            counts = degree if fanout == ALL else np.minimum(degree, fanout)
            inner = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            if fanout != ALL:
                inner = _drawn(inner, counts, degree, fanout, generator)
            edge = np.repeat(begin, counts) + inner
            source = stored.indices[edge]
            edges.append(edge)
            columns.append(np.repeat(place[hop], counts))
            hop = np.unique(source[place[source] < 0]).astype(np.int64)
            place[hop] = np.arange(count, count + len(hop))
            rows.append(place[source])
            nodes.append(hop)
            count += len(hop)
        found = np.concatenate(nodes)
        place[found] = -1
        row, column, edge = (
            torch.from_numpy(np.concatenate([np.empty(0, np.int64), *parts]))
            for parts in (rows, columns, edges)
        )
        return SamplerOutput(
            torch.from_numpy(found),
            row,
            column,
            edge,
            num_sampled_nodes=[len(hop) for hop in nodes],
            metadata=(index.input_id, index.time),
        )

    def sample_from_edges(self, index: Any, neg_sampling: Any = None) -> SamplerOutput:
        raise NotImplementedError("nodes are predicted here, not edges")


def _drawn(
    inner: NDArray[np.int64],
    counts: NDArray[np.int64],
    degree: NDArray[np.int64],
    fanout: int,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Places within rows: for rows longer than the fanout, so many of them (Floyd's algorithm)."""
    many = degree > fanout
    long = degree[many]
    drawn = np.empty((len(long), fanout), np.int64)
    for i in range(fanout):
        last = long - fanout + i
        pick = np.minimum((generator.random(len(long)) * (last + 1)).astype(np.int64), last)
        taken = (drawn[:, :i] == pick[:, None]).any(axis=1)
        drawn[:, i] = np.where(taken, last, pick)
    inner[np.repeat(many, counts)] = np.sort(drawn, axis=1).ravel()
    return inner


def fields(
    graph: Streamed,
    nodes: Tensor,
    batches: Sequence[Sequence[int]],
    fanouts: Sequence[int],
    key: tuple[int, ...] = (),
) -> Iterator[Field]:
    """The parts around some nodes, batch by batch, from PyG's loader.

    Where not all neighbours are taken, an edge into a node of degree d, of whose edges f were drawn, has the
    weight d / f: sums and degrees then are, in expectation, those of the whole graph, and means are means
    over the neighbours drawn.

    Args:
        graph: the large one.
        nodes: ``[n]``.
        batches: for each part, the positions in ``nodes`` that it is for.
        fanouts: how many neighbours for each hop, or :data:`ALL`.
        key: where the randomness comes from.
    """
    sampled = any(fanout != ALL for fanout in fanouts)
    on_gpu = graph.device.type == "cuda"
    no_edges = torch.empty(2, 0, dtype=torch.long)
    loader = NodeLoader(
        Data(edge_index=no_edges, num_nodes=graph.num_nodes),
        Neighbors(graph, fanouts, key),
        input_nodes=nodes,
        batch_sampler=batches,
        transform=lambda part: _with_features(graph, part, sampled),
        filter_per_worker=True,
        pin_memory=on_gpu,
    )
    for part in loader:
        nodes, part = part.n_id, part.to(graph.device, non_blocking=on_gpu)
        weight, attr, types = (part.get(name) for name in OF_EDGES)
        made = Graph(part.x, part.edge_index, weight, (len(nodes),), attr, None, types)
        yield Field(made, nodes, int(part.batch_size), part.num_sampled_nodes)


def _with_features(graph: Streamed, part: Data, sampled: bool) -> Data:
    """What the loader gives, with the rows of x and of the edges."""
    stored, nodes, edges = graph.stored, part.n_id.numpy(), part.e_id.numpy()
    part.x = torch.from_numpy(np.asarray(stored.x[nodes], np.float32))
    weight = None if stored.weight is None else torch.from_numpy(np.asarray(stored.weight[edges], np.float32))
    if sampled:
        target = part.edge_index[1]
        degree = torch.from_numpy(np.asarray(stored.indptr[nodes + 1] - stored.indptr[nodes]))
        drawn = torch.bincount(target, minlength=len(nodes))
        scale = (degree / drawn.clamp(min=1))[target].float()
        weight = scale if weight is None else weight * scale
    part.edge_weight = weight
    part.edge_attr, part.edge_type = (
        None if of is None else of[part.e_id] for of in (graph.edge_attr, graph.edge_type)
    )
    return part


def few(graph: Streamed | Graph, count: int = 64) -> Graph:
    """A small part of a large graph, to see what a module does; any other graph as it is."""
    if isinstance(graph, Graph):
        return graph
    nodes = torch.arange(min(count, graph.num_nodes))
    return next(fields(graph, nodes, [range(len(nodes))], [8])).graph


def hops_of(runner: Runner, graph: Streamed, columns: int) -> int:
    """How far a GNN looks: as many hops a part of the graph must have.

    It is the attribute ``hops`` of the module. For other PyG modules it is the number of their message
    passing layers, if one hop more makes no difference around a few nodes, else one more (degrees).

    Raises:
        ValueError: if it looks at all nodes, or does not say how far.
    """
    gnn, kind = runner.gnn, type(runner.gnn).__name__
    of_all = ValueError(
        f"the gnn, {kind}, has running statistics (batch normalisation), statistics of the nodes (GraphNorm) "
        "or cached edges, which are of all nodes at once; expected layers that look at neighbours alone, as "
        "torch.nn.LayerNorm does, or the whole graph in memory: a Data, without batch_size"
    )
    statistics = runner.gnn.training and next(gnn.buffers(), None) is not None
    if statistics or any(getattr(module, "cached", False) for module in gnn.modules()):
        raise of_all
    declared = getattr(gnn, "hops", None)
    if isinstance(declared, int):
        return declared
    layers = sum(isinstance(module, MessagePassing) for module in gnn.modules())
    if not layers:
        raise ValueError(
            f"the gnn, {kind}, does not say how many hops it looks; expected the attribute hops, an integer: "
            "set self.hops in its __init__, or fit on the whole graph: leave batch_size out"
        )
    degree = np.diff(graph.stored.indptr[: 2**16 + 1])
    nodes = torch.from_numpy(degree.nonzero()[0][:: max(1, len(degree) // 16)][:16])
    if not len(nodes):
        return layers

    def around(count: int, hops: int) -> Field:
        return next(fields(graph, nodes, [range(count)], [ALL] * hops))

    near, far = around(len(nodes), layers), around(len(nodes), layers + 1)
    hops, field = (layers, near) if _same(runner, near, far, columns) else (layers + 1, far)
    if not _same(runner, around(-(-len(nodes) // 2), hops), field, columns):
        raise of_all  # what it gives for a node depends on others that it is not connected with
    return hops


@torch.no_grad()
def _same(runner: Runner, near: Field, far: Field, columns: int) -> bool:
    runner = copy.deepcopy(runner)
    runner.gnn.eval()
    for parameter in runner.gnn.parameters():
        if not isinstance(parameter, nn.UninitializedParameter):
            parameter.add_(0.1)
    found = []
    for field in (near, far):
        labels = (field.nodes % 7).float().view(-1, 1, 1).expand(-1, 1, columns).to(field.graph.x.device)
        found.append(runner.mean(field.graph, labels)[: near.asked])
    one, other = found
    return torch.allclose(one, other, rtol=1e-4, atol=1e-5 * max(1.0, float(other.abs().max())))
