"""The graphs to draw: where their nodes are, and their classes for a GNN alone and with CL."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import scatter, to_scipy_sparse_matrix

from clgnn.collective.component import GNN
from clgnn.data.graph import known
from clgnn.theory.expectation import double_graph, expected, random_components
from clgnn.theory.expressiveness import at_node
from clgnn.theory.graphs import csl, proposition_1, theorem_2
from clgnn.theory.statement import LAYERS, TOLERANCE
from clgnn.theory.wl import classes, initial_colours, refine


@dataclass(frozen=True)
class Picture:
    """A graph to draw.

    Attributes:
        data: the graph.
        places: x and y of each node, ``[N, 2]``.
        alone: the class of each node for the GNN alone, ``[N]``.
        collective: the class of each node with CL, ``[N]``.
        title: a line above.
        captions: a line below each of the two drawings.
        bend: how much edges bend to the inside of a circle; such a graph has too many nodes to number.
    """

    data: Data
    places: Tensor
    alone: Tensor
    collective: Tensor
    title: str
    captions: tuple[str, str]
    bend: float = 0.0

    @property
    def centres(self) -> Tensor:
        """The middle of the connected part of the graph that a node is in, ``[N, 2]``."""
        part = to_scipy_sparse_matrix(self.data.edge_index, num_nodes=self.data.num_nodes)
        number = torch.from_numpy(connected_components(part)[1]).long()
        centres: Tensor = scatter(self.places, number, reduce="mean")[number]
        return centres


def pictures(gnn: GNN = "gin", seed: int = 0) -> list[Picture]:
    """Theorem 2, proposition 1 and circular skip links, for a GNN with random weights.

    Example:
        >>> [len(picture.collective.unique()) for picture in pictures()]
        [3, 10, 2]
    """
    return [_theorem_2(gnn, seed), _proposition_1(gnn, seed), _skip_links(gnn, seed)]


def _theorem_2(gnn: GNN, seed: int) -> Picture:
    data = theorem_2()
    triangles = {1: (-2.0, 1.5), 2: (-2.0, 0.5), 3: (-2.0, -0.5), 4: (-2.0, -1.5)}
    squares = {5: (1.3, 0.5), 6: (1.3, -0.5), 7: (2.6, 1.0), 8: (2.6, -1.0)}
    return Picture(
        data,
        _places({**triangles, **squares, 9: (0.0, 1.0), 10: (0.0, -1.0)}),
        refine(data.edge_index, initial_colours(data)),
        _collective(data, gnn, seed),
        "Theorem 2: two triangles and two squares; 9 and 10 are labelled",
        (
            "1 to 8 are one class, with any number of layers",
            "{1..4} and {5..8}, two orbits, are apart (squares: a class that only CL has)",
        ),
    )


def _proposition_1(gnn: GNN, seed: int) -> Picture:
    data = proposition_1()
    above = {node: (float(x), 1.0) for x, node in enumerate((7, 1, 3, 5, 9, 11))}
    below = {node: (float(x), 0.0) for x, node in enumerate((8, 2, 4, 6, 10))}
    return Picture(
        data,
        _places({**above, **below}),
        refine(data.edge_index, initial_colours(data), LAYERS),
        _collective(data, gnn, seed),
        f"Proposition 1: a GNN of {LAYERS} layers, and a difference more than {LAYERS} hops away",
        (
            f"1 and 2 are alike within {LAYERS} hops",
            f"node 11, {2 * LAYERS} hops from 1 but not from 2, tells them apart",
        ),
    )


def _skip_links(gnn: GNN, seed: int) -> Picture:
    skips = (2, 3)
    parts = [csl(skip) for skip in skips]
    graphs = [double_graph(part) for part in parts]
    size = parts[0].num_nodes
    components = random_components(gnn, graphs[0], 2, seed, LAYERS)
    # the nodes of one graph are one orbit: one of them stands for all
    outputs = torch.stack([at_node(components, graph, 0) for graph in graphs])
    angles = torch.arange(size) * (2 * math.pi / size)
    circle = torch.stack([angles.sin(), angles.cos()], dim=1)
    both = Data(
        x=torch.cat([part.x for part in parts]),
        edge_index=torch.cat([parts[0].edge_index, parts[1].edge_index + size], dim=1),
        y=torch.cat([part.y for part in parts]),
    )
    return Picture(
        both,
        torch.cat([circle, circle + torch.tensor([2.6, 0.0])]),
        refine(both.edge_index, initial_colours(both)),
        classes(outputs, TOLERANCE).repeat_interleave(size),
        f"Circular skip links: CSL(41, {skips[0]}) and CSL(41, {skips[1]})",
        ("all nodes of both graphs are one class", "each graph has its own class"),
        bend=3.0,
    )


def _collective(data: Data, gnn: GNN, seed: int) -> Tensor:
    graph = double_graph(data)
    components = random_components(gnn, graph, 2, seed, LAYERS)
    return classes(expected(components, graph, data.y, known(data.y)), TOLERANCE)


def _places(places: Mapping[int, tuple[float, float]]) -> Tensor:
    return torch.tensor([places[node] for node in sorted(places)])
