"""Theorems 1 and 2, the corollary, proposition 1, and circular skip links, for a GNN with random weights.

``gnn`` is ``"gin"``, the WL-GNN that is as expressive as 1-WL, or a factory
``(in_channels, out_channels) -> Module`` of another one with two layers. Outputs are compared after the
affine head. Nodes are numbered as in the paper, from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.utils import k_hop_subgraph

from clgnn.collective.component import GNN, Component
from clgnn.collective.inference import TestGraph, infer
from clgnn.data.graph import Graph, as_graph, known
from clgnn.theory.expectation import (
    double_graph,
    each_assignment,
    expectation,
    expected,
    label_input,
    plain,
    random_components,
)
from clgnn.theory.graphs import SKIPS, csl, proposition_1, theorem_2, undirected
from clgnn.theory.statement import (
    LAYERS,
    STANDARD_ERRORS,
    TOLERANCE,
    Statement,
    count,
    spread,
    standard_error,
)
from clgnn.theory.wl import classes, initial_colours, isomorphic, orbits, refine


def most_expressive(gnn: GNN = "gin", seed: int = 0) -> Statement:
    """Theorem 1: collective learning adds nothing to a most-expressive representation.

    A most-expressive representation tells nodes apart where anything can: by their orbit. With the orbits as
    features, the GNN alone has the same classes as CL, so CL gives a function of what the GNN gives. The same
    holds for unique features, which make every node an orbit of its own. It does not hold for constant ones.

    Example:
        >>> most_expressive().computed
        {'constant features': '2, 3', 'orbit features': '3, 3', 'unique features': '10, 10'}
    """
    data = theorem_2(labelled=False)
    features = {
        "constant": data.x,
        "orbit": F.one_hot(orbits(data)),
        "unique": torch.eye(data.num_nodes),
    }
    found = {}
    for name, x in features.items():
        graph, shown = replace(double_graph(data), x=x.double()), known(data.y)
        components = random_components(gnn, graph, 2, seed, LAYERS)
        alone = classes(plain(components[0], graph, data.y, shown), TOLERANCE)
        collective = classes(expected(components, graph, data.y, shown), TOLERANCE)
        found[name] = (alone, collective)
    return Statement(
        "theorem 1",
        "CL adds no class to a most-expressive input (classes of the GNN alone, with CL)",
        {f"{name} features": f"{count(alone)}, {count(both)}" for name, (alone, both) in found.items()},
        torch.equal(*found["orbit"]) and torch.equal(*found["unique"]),
    )


def separates(gnn: GNN = "gin", seed: int = 0, labelled: bool = True, num_layers: int = LAYERS) -> Statement:
    """Theorem 2: CL tells apart {1..4} and {5..8}, which are one class of 1-WL.

    The expectation is exact, over 2^8 assignments (2^10 if 9 and 10 are not labelled either). Nodes of one
    orbit must stay together.

    Two layers are enough for a GIN, whose last layer ends in a non-linear function of what it gathers. Where
    it is linear, as that of a GCN or GraphSAGE, the expectation passes through it, and it takes a third.
    """
    data = theorem_2(labelled)
    graph, shown = double_graph(data), known(data.y)
    components = random_components(gnn, graph, 2, seed, num_layers)
    alone = plain(components[0], graph, data.y, shown)
    collective = expected(components, graph, data.y, shown)
    colours = count(refine(data.edge_index, initial_colours(data))[:8])
    alone_gap, gap = spread(alone[:8]), spread(collective[[0, 4]])
    within = max(spread(collective[:4]), spread(collective[4:8]))
    return Statement(
        f"theorem 2, {'9 and 10 labelled' if labelled else 'no labels'}",
        "CL separates {1..4} from {5..8}, no WL-GNN does",
        {"1-WL classes": colours, "WL-GNN gap": alone_gap, "CL gap": gap, "CL within orbits": within},
        colours == 1 and max(alone_gap, within) < TOLERANCE < gap,
    )


def soft_labels(gnn: GNN = "gin", seed: int = 0, num_iterations: int = 3) -> Statement:
    """The corollary: probabilities as input, in place of draws from them, add no expressive power.

    {1..8} of theorem 2's graph stay together through all iterations; with draws, one iteration parts them.
    """
    soft, drawn = [], []
    for labelled in (True, False):
        data = theorem_2(labelled)
        graph, shown = double_graph(data), known(data.y)
        components = random_components(gnn, graph, num_iterations + 1, seed, LAYERS)
        steps = range(2, num_iterations + 2)
        soft += [spread(_soft(components[:t], graph, data.y, shown)[:8]) for t in steps]
        drawn.append(spread(expected(components[:2], graph, data.y, shown)[[0, 4]]))
    return Statement(
        "corollary 1",
        f"soft labels do not separate {{1..8}} in {num_iterations} iterations, draws do in one",
        {"soft gap": max(soft), "CL gap": min(drawn)},
        max(soft) < TOLERANCE < min(drawn),
    )


def twice_the_hops(gnn: GNN = "gin", seed: int = 0) -> Statement:
    """Proposition 1: CL on d layers separates 1 and 2, which are alike within d hops but not within 2d.

    CL can, because 5 and 6, which are d hops away, get different label distributions; that is computed too.
    Here, unlike in theorem 2, probabilities in place of draws are enough.
    """
    data = proposition_1()
    graph, shown = double_graph(data), known(data.y)
    components = random_components(gnn, graph, 2, seed, LAYERS)
    alone = plain(components[0], graph, data.y, shown)
    gap = spread(expected(components, graph, data.y, shown)[:2])
    alone_gap, soft_gap = spread(alone[:2]), spread(_soft(components, graph, data.y, shown)[:2])
    rim = spread(alone[4:6].softmax(dim=1))
    alike = [hops for hops in range(1, 2 * LAYERS + 1) if isomorphic(data, 0, 1, hops)]
    return Statement(
        "proposition 1",
        f"CL on {LAYERS} layers separates 1 from 2, the WL-GNN does not",
        {
            "hops alike": max(alike),
            "WL-GNN gap": alone_gap,
            "CL gap": gap,
            "predictions of 5 and 6 apart": rim,
            "soft gap": soft_gap,
        },
        LAYERS <= max(alike) < 2 * LAYERS and alone_gap < TOLERANCE < min(gap, rim),
    )


def reach(gnn: GNN = "gin", seed: int = 0) -> Statement:
    """Proposition 1's reason: d layers see d hops, with CL 2d hops, and not one more.

    On a path, the feature of one node is changed: does the output of the first node change?

    Example:
        >>> reach().computed
        {'hops of the WL-GNN': 2, 'hops with CL': 4}
    """
    last = 2 * LAYERS + 1
    data = undirected([(v, v + 1) for v in range(last)], last + 1)
    graph, shown = double_graph(data), known(data.y)
    components = random_components(gnn, graph, 2, seed, LAYERS)

    def hops_seen(components: Sequence[Component]) -> list[int]:
        def first(x: Tensor) -> Tensor:
            return expected(components, replace(graph, x=x), data.y, shown)[0]

        changed = [first(graph.x.index_fill(0, torch.tensor(v), 3.0)) for v in range(1, last + 1)]
        before = first(graph.x)
        return [v for v, after in enumerate(changed, 1) if spread(torch.stack([before, after])) > TOLERANCE]

    alone, collective = hops_seen(components[:1]), hops_seen(components)
    return Statement(
        "proposition 1, reach",
        f"{LAYERS} layers see {LAYERS} hops, with CL {2 * LAYERS}",
        {"hops of the WL-GNN": max(alone, default=0), "hops with CL": max(collective, default=0)},
        alone == list(range(1, LAYERS + 1)) and collective == list(range(1, 2 * LAYERS + 1)),
    )


def skip_links(
    gnn: GNN = "gin", seed: int = 0, skips: tuple[int, int] = (2, 3), num_samples: int = 4000
) -> Statement:
    """CSL(41, r): all nodes of all r are one class of 1-WL; CL tells graphs of different r apart.

    The nodes of one graph are one orbit, so that nothing separates them. Between two graphs, the difference
    of the expectations is exact, over the labels within d hops of a node. It is also estimated from K draws
    of all labels, the same for both graphs, since the GNN alone predicts the same for both.
    """
    everything = as_graph([csl(skip) for skip in SKIPS])
    colours = count(refine(everything.edge_index, torch.zeros(everything.num_nodes, dtype=torch.long)))
    graphs = [double_graph(csl(skip)) for skip in skips]
    components = random_components(gnn, graphs[0], 2, seed, LAYERS)
    alone_gap = spread(torch.cat([plain(components[0], graph, *_unlabelled(graph)) for graph in graphs]))
    exact = at_node(components, graphs[0], 0) - at_node(components, graphs[1], 0)
    samples = [_sampled(components, graph, num_samples, seed) for graph in graphs]
    differences = samples[0] - samples[1]
    mean, width = differences.mean(dim=0), STANDARD_ERRORS * standard_error(differences)
    column = int((mean.abs() / width).argmax())
    return Statement(
        "circular skip links",
        f"CL tells CSL(41, {skips[0]}) from CSL(41, {skips[1]}), no WL-GNN does",
        {
            f"1-WL classes of {len(SKIPS)} graphs": colours,
            "WL-GNN gap": alone_gap,
            "CL difference": float(exact[column]),
            f"from {num_samples} draws": f"{float(mean[column]):.1e} ± {float(width[column]):.1e}",
        },
        colours == 1
        and alone_gap < TOLERANCE < float(exact.abs().max())
        and bool(((mean - exact).abs() <= width).all()),
    )


def at_node(components: Sequence[Component], graph: Graph, node: int) -> Tensor:
    """The exact output ``[C]`` at one node of a large unlabelled graph.

    A GNN of d layers sees the labels within d hops, so that only those are enumerated.
    """
    predicted = plain(components[0], graph, *_unlabelled(graph))
    near, edge_index, position, _ = k_hop_subgraph(node, LAYERS, graph.edge_index, relabel_nodes=True)
    egonet = Graph(graph.x[near], edge_index, None, (len(near),))
    with torch.no_grad():
        return expectation(components[1], egonet, *_unlabelled(egonet), predicted[near])[position[0]]


def _unlabelled(graph: Graph) -> tuple[Tensor, Tensor]:
    """Labels, all unknown, and the mask that shows none."""
    y = torch.full((graph.num_nodes,), -1)
    return y, known(y)


def _soft(components: Sequence[Component], graph: Graph, y: Tensor, shown: Tensor) -> Tensor:
    """The recursion on probabilities in place of draws."""
    outputs = infer(components, TestGraph(graph, y, [shown], label_input("soft"), seed=0))
    assert outputs is not None  # there are components
    return outputs


def _sampled(components: Sequence[Component], graph: Graph, num_samples: int, seed: int) -> Tensor:
    """The mean output over the nodes, of single draws ``[K, C]``; a seed draws the same for both graphs."""
    y, shown = _unlabelled(graph)
    generator = torch.Generator().manual_seed(seed)
    predicted = plain(components[0], graph, y, shown)
    labels = label_input("sampled", num_samples)(predicted, y, shown, generator)
    with torch.no_grad():
        parts = [each_assignment(components[1], graph, part) for part in labels.split(1000, dim=1)]
    return torch.cat(parts, dim=1).mean(dim=0)
