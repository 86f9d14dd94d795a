"""Step 2: the GNN on [X | Y_k] for each of the K samples, and the mean of its representation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch_geometric.nn import MessagePassing

import clgnn.collective.operations  # noqa: F401  (what LabelledFeatures can do)
from clgnn.collective.features import LabelledFeatures, whole
from clgnn.collective.memory import SHARE, bytes_a_sample, free_bytes
from clgnn.component import Component
from clgnn.graph import Graph

Edges: TypeAlias = tuple[Tensor, dict[str, Any]]

ALWAYS_FITS = 1_000_000
"""So many rows (nodes times samples) need no measurement."""


def average(component: Component, graph: Graph, labels: Tensor) -> Tensor:
    r"""The output of equations 1 and 2, :math:`W \bar Z_v + b`.

    .. math:: \bar Z_v = \frac{1}{K} \sum_{k=1}^K \mathrm{GNN}([X | Y_k], A; \Theta)_v

    A GNN that takes ``labels`` gets all samples and averages them itself. Any other runs once on all of them
    (:class:`~clgnn.collective.features.LabelledFeatures`), if that was seen to agree with the loop over the
    samples when it first ran; else it runs K times. Samples that do not fit into memory together run in
    chunks, whose inner values are computed again in the backward pass.

    Args:
        component: the GNN and its head.
        graph: N nodes with features X.
        labels: the label columns of the K samples, ``[N, K, C]``; C = 0 for a GNN on X alone.

    Returns:
        ``[N, outputs]``, the parameters of each node's label distribution.
    """
    k = labels.size(1)
    run = partial(_representation, component, graph)
    size = _chunk(component, graph, labels, run)
    if size >= k:
        z = run(labels)
    else:
        chunks = labels.split(size, dim=1)
        parts = [checkpoint(run, chunk, use_reentrant=False) * (chunk.size(1) / k) for chunk in chunks]
        z = torch.stack(parts).sum(dim=0)
    out: Tensor = component.head(z)
    return out


def _representation(component: Component, graph: Graph, labels: Tensor) -> Tensor:
    """The mean of Z over the samples, ``[N, d]``."""
    edges = _edges(component, graph, labels)
    if component.takes_labels:
        z: Tensor = component.gnn(graph.x, edges[0], labels=labels, **edges[1])
        return z
    if component.at_once is None:
        component.at_once = _agrees(component.gnn, graph, _two(labels), edges)
    together = _at_once if component.at_once else _in_a_loop
    return together(component.gnn, graph, labels, edges)


def _chunk(component: Component, graph: Graph, labels: Tensor, run: Callable[[Tensor], Tensor]) -> int:
    """How many samples run together."""
    n, k = labels.shape[:2]
    budget = component.memory_budget
    if k == 1 or (budget is None and n * k < ALWAYS_FITS):
        return k
    if component.bytes_a_row is None:
        component.bytes_a_row = bytes_a_sample(run, labels) / n
    if budget is None:
        budget = SHARE * free_bytes(graph.x.device)
    fitting = budget / max(component.bytes_a_row * n, 1.0)
    return k if fitting >= k else max(1, int(fitting))


def each_sample(component: Component, graph: Graph, labels: Tensor) -> Tensor:
    """The output of every single sample, ``[N, K, outputs]``; :func:`average` is its mean over K."""
    samples = labels.split(1, dim=1)
    return torch.stack([average(component, graph, sample) for sample in samples], dim=1)


def _edges(component: Component, graph: Graph, labels: Tensor) -> Edges:
    """What stands for the edges in a call of the GNN, and its further arguments."""
    weighted = component.takes_edge_weight and graph.edge_weight is not None
    plain: Edges = graph.edge_index, {"edge_weight": graph.edge_weight} if weighted else {}
    if component.takes_labels or component.propagation == "edge_index":
        return plain
    if not graph.simple or (graph.edge_weight is not None and not weighted):
        return plain  # what a matrix can't say, or says though the module does not ask
    if weighted not in component.takes_adjacency:
        found = _takes_adjacency(component.gnn, graph, labels[:, :1], plain)
        component.takes_adjacency[weighted] = found
    return (graph.adjacency, {}) if component.takes_adjacency[weighted] else plain


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
                _in_a_loop(gnn, graph, labels, edges) for edges in (plain, (graph.adjacency, {}))
            )
    except Exception:  # whatever a module wants with its edges: it gets them as it always does
        return False
    finally:
        gnn.train(training)
    return _close(z, of_adjacency)


def _in_a_loop(gnn: nn.Module, graph: Graph, labels: Tensor, edges: Edges) -> Tensor:
    """The mean over K calls: slow, and right by definition."""
    inputs = (torch.cat([graph.dense_x, sample], dim=1) for sample in labels.unbind(dim=1))
    return torch.stack([gnn(x, edges[0], **edges[1]) for x in inputs]).mean(dim=0)


def _at_once(gnn: nn.Module, graph: Graph, labels: Tensor, edges: Edges) -> Tensor:
    """The mean over K samples of one call."""
    z = gnn(LabelledFeatures(labels, graph.x), edges[0], **edges[1])
    return whole(z).mean(dim=1)


def _two(labels: Tensor) -> Tensor:
    """Two samples that differ, to compare with; iteration 0 has only one."""
    if labels.size(1) > 1 and not torch.equal(labels[:, 0], labels[:, 1]):
        return labels[:, :2]
    other = torch.arange(labels[:, :1].numel(), device=labels.device).view_as(labels[:, :1])
    return torch.cat([labels[:, :1], labels[:, :1] + other.sin().to(labels.dtype)], dim=1)


def _agrees(gnn: nn.Module, graph: Graph, labels: Tensor, edges: Edges) -> bool:
    """Whether one call for all samples gives what the loop gives: values and gradients, dropout off."""
    parameters = [parameter for parameter in gnn.parameters() if parameter.requires_grad]
    training = gnn.training
    results: list[list[Tensor]] = []
    with torch.enable_grad(), torch.random.fork_rng():
        gnn.eval()
        try:
            for run in (_in_a_loop, _at_once):
                z = run(gnn, graph, labels, edges)
                results.append([z.detach()])
                if parameters:
                    gradients = torch.autograd.grad(z.square().sum(), parameters, allow_unused=True)
                    results[-1] += [gradient for gradient in gradients if gradient is not None]
        except Exception:  # whatever a module does that one call can't: the loop will do, or will say
            return False
        finally:
            gnn.train(training)
    loop, at_once = results
    return len(loop) == len(at_once) and all(_close(a, b) for a, b in zip(loop, at_once, strict=True))


def _close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=1e-3, atol=1e-4 * max(1.0, float(a.abs().max())))
