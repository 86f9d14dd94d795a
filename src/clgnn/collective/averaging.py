"""Step 2: the GNN on [X | Y_k] for each of the K samples, and the mean of its representation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from clgnn.component import Component
from clgnn.graph import Graph


def average(component: Component, graph: Graph, labels: Tensor) -> Tensor:
    r"""The output of equations 1 and 2, :math:`W \bar Z_v + b`.

    .. math:: \bar Z_v = \frac{1}{K} \sum_{k=1}^K \mathrm{GNN}([X | Y_k], A; \Theta)_v

    Args:
        component: the GNN and its head.
        graph: N nodes with features X.
        labels: the label columns of the K samples, ``[N, K, C]``; C = 0 for a GNN on X alone.

    Returns:
        ``[N, outputs]``, the parameters of each node's label distribution.
    """
    options: dict[str, Any] = {}
    if component.takes_edge_weight and graph.edge_weight is not None:
        options["edge_weight"] = graph.edge_weight
    if component.takes_labels:
        z = component.gnn(graph.x, graph.edge_index, labels=labels, **options)
    else:
        total: Tensor | int = 0
        for k in range(labels.size(1)):
            x = torch.cat([graph.dense_x, labels[:, k]], dim=1)
            total = total + component.gnn(x, graph.edge_index, **options)
        z = total / labels.size(1)
    out: Tensor = component.head(z)
    return out


def each_sample(component: Component, graph: Graph, labels: Tensor) -> Tensor:
    """The output of every single sample, ``[N, K, outputs]``; :func:`average` is its mean over K."""
    samples = labels.split(1, dim=1)
    return torch.stack([average(component, graph, sample) for sample in samples], dim=1)
