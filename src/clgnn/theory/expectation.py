"""Equation 2 without sampling: the expectation over all label assignments of a small graph.

Everything is in double precision, so that "equal" can be checked to 1e-10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from clgnn.collective.averaging import average
from clgnn.collective.component import GNN, Component, build
from clgnn.collective.inference import TestGraph, infer
from clgnn.collective.sampling import Categorical, LabelInput, Sampling
from clgnn.data.graph import Graph, as_graph

LARGEST = 2**14
"""How many assignments are enumerated at most."""


@dataclass(frozen=True)
class DoubleCategorical(Categorical):
    """The classes of :mod:`clgnn.collective.sampling`, with label columns in double precision."""

    def encode(self, y: Tensor) -> Tensor:
        return super().encode(y).double()

    def draw(self, parameters: Tensor, points: Tensor) -> Tensor:
        return super().draw(parameters, points.double()).double()


FAMILY = DoubleCategorical(2)


def double_graph(data: Data) -> Graph:
    """The graph that collective learning works on, in double precision."""
    graph = as_graph(data)
    return replace(graph, x=graph.x.double())


def label_input(
    labels: Literal["sampled", "soft", "observed"], num_samples: int = 1, sampling: Sampling = "iid"
) -> LabelInput:
    """The label columns in double precision; see :class:`clgnn.collective.sampling.LabelInput`."""
    return LabelInput(FAMILY, labels, num_samples, sampling)


def random_components(
    gnn: GNN, graph: Graph, count: int, seed: int, num_layers: int = 2, hidden_channels: int = 64
) -> list[Component]:
    """Θ_0, .., Θ_{count - 1} with random weights, in double precision and without dropout.

    Biases and the ε of a GIN are drawn too: with ε = 0, where GIN starts, a node and its neighbours are
    summed alike, and a sum is not an injective function of the two.

    Args:
        gnn: as in :func:`clgnn.collective.component.build`; a factory builds ``num_layers`` layers itself.
        graph: gives the number of features.
        count: how many.
        seed: the random seed of the weights.
        num_layers, hidden_channels: of a named GNN. A narrow one can happen to be linear in all labels that
            it sees, and then separates nothing: 1 in 100 with 32 channels, none of 200 with 64.
    """
    single = replace(graph, x=graph.x.float())
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        components = [
            build(gnn, single, 2, 2, hidden_channels=hidden_channels, num_layers=num_layers, dropout=0.0)
            for _ in range(count)
        ]
        for component in components:
            for parameter in component.parameters():
                if parameter.dim() < 2:
                    nn.init.normal_(parameter, std=0.3)
    return [component.double().eval() for component in components]


def assignments(y: Tensor, shown: Tensor) -> Tensor:
    """Every way to label the nodes whose label is not shown.

    Args:
        y: labels ``[N]``.
        shown: the mask M, bool ``[N]``, U of which are not.

    Returns:
        The label columns of all ``C^U`` samples, ``[N, C^U, C]``.

    Example:
        >>> import torch
        >>> assignments(torch.tensor([1, -1]), torch.tensor([True, False])).argmax(dim=2)
        tensor([[1, 1],
                [0, 1]])
    """
    hidden = (~shown).nonzero().squeeze(1)
    count = FAMILY.num_classes ** len(hidden)
    if count > LARGEST:
        raise ValueError(
            f"{len(hidden)} nodes without a label have {count} assignments; expected {LARGEST} at most: "
            "take a smaller graph, or draw samples"
        )
    ways = torch.tensor(list(product(range(FAMILY.num_classes), repeat=len(hidden))), dtype=torch.long)
    labels = y.repeat(count, 1)
    labels[:, hidden] = ways
    return FAMILY.encode(labels.t().flatten()).view(len(y), count, FAMILY.columns)


def each_assignment(component: Component, graph: Graph, labels: Tensor) -> Tensor:
    """The output of every assignment, ``[N, K, C]``, from K copies of the graph side by side.

    The same as :func:`clgnn.collective.averaging.each_sample`, which goes through the samples one by one and
    is slow where the graph is small and the samples are thousands.
    """
    n, k, c = labels.shape
    starts = n * torch.arange(k).unsqueeze(1)
    edge_index = (graph.edge_index.unsqueeze(1) + starts).flatten(1)
    copies = Graph(graph.dense_x.repeat(k, 1), edge_index, None, (n,) * k)
    outputs = average(component, copies, labels.transpose(0, 1).reshape(k * n, 1, c))
    return outputs.view(k, n, -1).transpose(0, 1)


def likelihood(labels: Tensor, predicted: Tensor, shown: Tensor) -> Tensor:
    """The probability ``[K]`` of each assignment ``[N, K, C]`` under the predictions' logits ``[N, C]``."""
    logs = torch.einsum("vkc,vc->k", labels[~shown], predicted.log_softmax(dim=1)[~shown])
    return logs.exp()


def expectation(component: Component, graph: Graph, y: Tensor, shown: Tensor, predicted: Tensor) -> Tensor:
    r"""Equation 2 as it stands, :math:`E_{\hat Y}[\mathrm{GNN}([X | \hat Y], A; \Theta)_v]`, after the head.

    Args:
        component: Θ, W and b.
        graph: N nodes.
        y, shown: the labels and the mask M, ``[N]``.
        predicted: the logits that Ŷ is drawn from, ``[N, C]``.

    Returns:
        ``[N, C]``, which the average over K samples tends to.
    """
    labels = assignments(y, shown)
    weights = likelihood(labels, predicted, shown)
    return torch.einsum("vko,k->vo", each_assignment(component, graph, labels), weights)


@torch.no_grad()
def expected(components: Sequence[Component], graph: Graph, y: Tensor, shown: Tensor) -> Tensor:
    """The recursion of :func:`clgnn.collective.inference.infer` with K = ∞: iteration 0, then expectations.

    Example:
        >>> import torch
        >>> from clgnn.theory.graphs import theorem_2
        >>> from clgnn.theory.wl import classes
        >>> data = theorem_2()
        >>> graph = double_graph(data)
        >>> components = random_components("gin", graph, count=2, seed=0)
        >>> classes(expected(components, graph, data.y, data.y >= 0), tolerance=1e-10)
        tensor([0, 0, 0, 0, 1, 1, 1, 1, 2, 2])
    """
    predicted = plain(components[0], graph, y, shown)
    for component in components[1:]:
        predicted = expectation(component, graph, y, shown, predicted)
    return predicted


def plain(component: Component, graph: Graph, y: Tensor, shown: Tensor) -> Tensor:
    """The GNN alone, iteration 0: on the features and on the labels that are shown, ``[N, C]``."""
    output = infer([component], TestGraph(graph, y, [shown], label_input("observed"), seed=0))
    assert output is not None  # there is one component
    return output
