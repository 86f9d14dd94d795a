"""Runs a GNN on K label samples, and keeps what it found out about that GNN."""

from __future__ import annotations

import copy
import inspect
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch_geometric.nn import MessagePassing

import clgnn.engine.elementwise
import clgnn.engine.products
import clgnn.engine.rows  # noqa: F401  (what LabelledFeatures can do)
from clgnn.data.graph import Graph
from clgnn.engine.attention import keeping
from clgnn.engine.chunks import bytes_per_sample, chunk_size
from clgnn.engine.features import LabelledFeatures, whole
from clgnn.engine.propagation import adjacency
from clgnn.engine.rings import Layered, Rings

OF_EDGES = ("edge_weight", "edge_attr", "edge_type")
"""What a graph may have of its edges, and a GNN may take."""
Edges: TypeAlias = tuple[Tensor, dict[str, Any]]
Propagation: TypeAlias = Literal["auto", "edge_index"]
Precision: TypeAlias = Literal["float32", "bfloat16"]


class Runner:
    """Gives the mean of a GNN's representation over K label samples.

    A GNN that takes ``labels`` gets all samples and averages them itself. Any other runs once on all of them
    (:class:`~clgnn.engine.features.LabelledFeatures`), if that was seen to agree with the loop over the
    samples when it first ran; else it runs K times. Samples that do not fit into the memory budget together
    run in chunks, whose inner values are computed again in the backward pass.

    Args:
        gnn: called as ``gnn(x, edge_index)``, and with ``edge_weight``, ``edge_attr`` and ``edge_type`` if
            its ``forward`` takes them and the graph has them.
        propagation: ``"auto"`` gives PyG's layers a sparse matrix in place of ``edge_index`` where they give
            the same with it; ``"edge_index"`` never does.
        memory_budget: bytes that the samples may keep for a gradient step; None for no limit.
        precision: ``"bfloat16"`` runs the GNN under ``torch.autocast``; weights and results stay as they are.

    Example:
        >>> import torch
        >>> from torch_geometric.nn import GCNConv
        >>> graph = Graph(torch.rand(3, 4), torch.tensor([[0, 1], [1, 2]]), None, (3,))
        >>> Runner(GCNConv(4 + 2, 8)).mean(graph, labels=torch.rand(3, 10, 2)).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        gnn: nn.Module,
        propagation: Propagation = "auto",
        memory_budget: float | None = None,
        precision: Precision = "float32",
    ) -> None:
        self.gnn, self.propagation, self.memory_budget = gnn, propagation, memory_budget
        self.precision = precision
        inner = getattr(gnn, "_orig_mod", gnn)  # torch.compile hides what a module takes
        self.takes = frozenset(inspect.signature(inner.forward).parameters)
        # What the first calls find out:
        self.at_once: bool | None = None  # whether one call does all samples
        self.takes_adjacency: dict[bool, bool] = {}  # in place of edge_index, without and with weights
        self.bytes_per_row: float | None = None  # what a node of a sample keeps for the backward pass

    def mean(self, graph: Graph, labels: Tensor) -> Tensor:
        """The mean of Z over the samples, ``[N, d]``, from their label columns ``[N, K, C]``.

        Of :class:`~clgnn.engine.rings.Rings` it has the rows of the targets alone.
        """
        if self.precision == "float32":
            return self._mean(graph, labels)
        with torch.autocast(labels.device.type, torch.bfloat16):
            return self._mean(graph, labels).to(labels.dtype)

    def _mean(self, graph: Graph, labels: Tensor) -> Tensor:
        n, k = labels.shape[:2]
        size = chunk_size(n, k, self.memory_budget, lambda: self._bytes_per_row(graph, labels))
        if size >= k:
            return self._together(graph, labels)

        def run(chunk: Tensor) -> Tensor:
            return self._together(graph, chunk)

        chunks = labels.split(size, dim=1)
        parts = [checkpoint(run, chunk, use_reentrant=False) * (chunk.size(1) / k) for chunk in chunks]
        return torch.stack(parts).sum(dim=0)

    def _together(self, graph: Graph, labels: Tensor) -> Tensor:
        if graph.hetero is not None:
            return in_a_loop(self.gnn, graph, labels, (graph.edge_index, {}))
        if isinstance(graph, Rings):
            assert isinstance(self.gnn, Layered)
            return self.gnn.run(graph.x, graph.operators, labels)
        edges = self._edges(graph, labels)
        if "labels" in self.takes:
            z: Tensor = self.gnn(graph.x, edges[0], labels=labels, **edges[1])
            return z
        if self.at_once is None:
            with torch.autocast(labels.device.type, enabled=False):  # bfloat16 would differ anyway
                self.at_once = agrees(self.gnn, graph, _two(labels), edges)
        together = at_once if self.at_once else in_a_loop
        return together(self.gnn, graph, labels, edges)

    def _bytes_per_row(self, graph: Graph, labels: Tensor) -> float:
        if self.bytes_per_row is None:
            other = copy.deepcopy(self)  # running statistics must not move
            self.bytes_per_row = bytes_per_sample(lambda some: other._together(graph, some), labels) / len(
                labels
            )
        return self.bytes_per_row

    def edge_arguments(self, graph: Graph) -> dict[str, Tensor]:
        """The weights, features and types of the edges, as far as the GNN takes them."""
        found = {name: getattr(graph, name) for name in OF_EDGES if name in self.takes}
        return {name: value for name, value in found.items() if value is not None}

    def _edges(self, graph: Graph, labels: Tensor) -> Edges:
        """What stands for the edges in a call of the GNN, and its further arguments."""
        given = self.edge_arguments(graph)
        plain: Edges = graph.edge_index, given
        if "labels" in self.takes or self.propagation == "edge_index" or given.keys() - {"edge_weight"}:
            return plain
        weighted = "edge_weight" in given
        if not graph.simple or (graph.edge_weight is not None and not weighted):
            return plain  # a matrix would lose an edge, or bring weights that the module does not take
        if weighted not in self.takes_adjacency:
            with torch.autocast(labels.device.type, enabled=False):
                found = _takes_adjacency(self.gnn, graph, labels[:, :1], plain)
            self.takes_adjacency[weighted] = found
        return (adjacency(graph), {}) if self.takes_adjacency[weighted] else plain


def _takes_adjacency(gnn: nn.Module, graph: Graph, labels: Tensor, plain: Edges) -> bool:
    """Whether all layers multiply with a sparse matrix themselves, and give what they do from edge_index."""
    layers = [module for module in gnn.modules() if isinstance(module, MessagePassing)]
    if not layers or not all(layer.fuse for layer in layers) or graph.x.device.type != "cpu":
        return False
    training = gnn.training
    gnn.eval()
    try:
        with torch.no_grad():
            z, of_adjacency = (
                in_a_loop(gnn, graph, labels, edges) for edges in (plain, (adjacency(graph), {}))
            )
    except Exception:  # whatever a module wants with its edges: it gets them as it always does
        return False
    finally:
        gnn.train(training)
    return _close(z, of_adjacency)


def in_a_loop(gnn: nn.Module, graph: Graph, labels: Tensor, edges: Edges) -> Tensor:
    """The mean over K calls: slow, and right by definition."""
    inputs = (torch.cat([graph.dense_x, sample], dim=1) for sample in labels.unbind(dim=1))
    return torch.stack([call(gnn, graph, x, edges) for x in inputs]).mean(dim=0)


def call(gnn: nn.Module, graph: Graph, x: Tensor, edges: Edges) -> Tensor:
    """One call of a module, with features and labels ``[N, p + C]``.

    On a heterogeneous graph it is called as PyG's are, ``gnn(x_dict, edge_index_dict)``, and what it gives
    for the labelled nodes counts.
    """
    if graph.hetero is None:
        z: Tensor = gnn(x, edges[0], **edges[1])
        return z
    given = gnn(*graph.hetero.arguments(x))
    found: Tensor = given[graph.hetero.kind] if isinstance(given, dict) else given
    return found


def at_once(gnn: nn.Module, graph: Graph, labels: Tensor, edges: Edges) -> Tensor:
    """The mean over K samples of one call."""
    with keeping(graph.edge_index):
        z = gnn(LabelledFeatures(labels, graph.x), edges[0], **edges[1])
    return whole(z).mean(dim=1)


def _two(labels: Tensor) -> Tensor:
    """Two samples that differ, to compare with; iteration 0 has only one."""
    if labels.size(1) > 1 and not torch.equal(labels[:, 0], labels[:, 1]):
        return labels[:, :2]
    other = torch.arange(labels[:, :1].numel(), device=labels.device).view_as(labels[:, :1])
    return torch.cat([labels[:, :1], labels[:, :1] + other.sin().to(labels.dtype)], dim=1)


def agrees(gnn: nn.Module, graph: Graph, labels: Tensor, edges: Edges) -> bool:
    """Whether one call for all samples gives what the loop gives: values and gradients, dropout off."""
    parameters = [parameter for parameter in gnn.parameters() if parameter.requires_grad]
    training = gnn.training
    results: list[list[Tensor]] = []
    with torch.enable_grad(), torch.random.fork_rng():
        gnn.eval()
        try:
            for run in (in_a_loop, at_once):
                z = run(gnn, graph, labels, edges)
                results.append([z.detach()])
                if parameters:
                    gradients = torch.autograd.grad(z.square().sum(), parameters, allow_unused=True)
                    results[-1] += [gradient for gradient in gradients if gradient is not None]
        except Exception:  # whatever a module does that one call can't: the loop will do, or will say
            return False
        finally:
            gnn.train(training)
    expected, found = results
    return len(expected) == len(found) and all(_close(a, b) for a, b in zip(expected, found, strict=True))


def _close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=1e-3, atol=1e-4 * max(1.0, float(a.abs().max())))
