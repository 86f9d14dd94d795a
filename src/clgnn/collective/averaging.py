"""Equation 2: the GNN on [X | Y_k] for each of the K samples, and the mean of its representation."""

from __future__ import annotations

import torch
from torch import Tensor

from clgnn.collective.component import Component
from clgnn.data.graph import Graph
from clgnn.engine.packed import Packed
from clgnn.engine.streamed import Streamed
from clgnn.engine.streaming import outputs


def average(component: Component, graph: Graph | Streamed, labels: Tensor | Packed) -> Tensor:
    r"""The output of equations 1 and 2, :math:`W \bar Z_v + b`.

    .. math:: \bar Z_v = \frac{1}{K} \sum_{k=1}^K \mathrm{GNN}([X | Y_k], A; \Theta)_v

    How K samples cost little more than one is the business of :class:`clgnn.engine.runner.Runner`.

    Args:
        component: the GNN and its head.
        graph: N nodes with features X. One that is gone through in pieces is for predictions: there are
            no gradients.
        labels: the label columns of the K samples, ``[N, K, C]``; C = 0 for a GNN on X alone.

    Returns:
        ``[N, outputs]``, the parameters of each node's label distribution.
    """
    if isinstance(graph, Streamed):
        return outputs(component.runner, component.head, graph, labels)
    assert isinstance(labels, Tensor)
    out: Tensor = component.head(component.runner.mean(graph, labels))
    return out


def each_sample(component: Component, graph: Graph | Streamed, labels: Tensor | Packed) -> Tensor:
    """The output of every single sample, ``[N, K, outputs]``; :func:`average` is its mean over K."""
    samples = labels.split(1, dim=1)
    return torch.stack([average(component, graph, sample) for sample in samples], dim=1)
