"""How a fit goes through a graph: as a whole, or in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clgnn.collective.batches import Batching
from clgnn.collective.component import Component
from clgnn.data.graph import Graph, Graphs
from clgnn.data.stored import StoredGraph
from clgnn.engine.streamed import Streamed, streamed
from clgnn.nn import SAGE


def batching(
    data: Graphs, batch_size: int | None, num_neighbors: int | Sequence[int] | None, num_parts: int
) -> Batching | None:
    """What the arguments of ``fit`` ask for; None for gradient steps on the whole graph.

    Example:
        >>> batching([], 256, 10, 4)
        Batching(size=256, num_neighbors=(10,), num_parts=4)
        >>> batching([], None, None, 4) is None
        True
    """
    if batch_size is None and isinstance(data, StoredGraph):
        batch_size = Batching.size
    if batch_size is None:
        if num_neighbors is not None:
            raise ValueError(
                f"num_neighbors is {num_neighbors!r} and there is no batch_size; expected both: neighbours "
                "are drawn for batches alone"
            )
        return None
    given = [] if num_neighbors is None else num_neighbors
    drawn = tuple(given) if isinstance(given, Sequence) else (given,)
    one = "an integer above 0"
    for name, came, values, expected in (
        ("batch_size", batch_size, [batch_size], one),
        ("num_parts", num_parts, [num_parts], one),
        ("num_neighbors", num_neighbors, drawn, "integers above 0, one for each hop or one for all"),
    ):
        if not all(isinstance(v, int | np.integer) and not isinstance(v, bool) and v > 0 for v in values):
            raise ValueError(f"{name} is {came!r}; expected {expected}")
    return Batching(int(batch_size), tuple(int(v) for v in drawn), int(num_parts))


def as_streamed(graph: Graph | Streamed) -> Streamed:
    """A graph to go through in pieces."""
    if isinstance(graph, Streamed):
        return graph
    if graph.hetero is not None:
        raise ValueError("batch_size is given and the graph is a HeteroData; expected a Data: leave it out")
    return streamed(graph, graph.device)


def check_start(start: Any) -> None:
    """Refuses first predictions that need the whole graph at once."""
    if start not in ("plain", "paper"):
        raise ValueError(
            f"start is {start!r}, and the fit goes in batches; expected 'plain' or 'paper': others need the "
            "whole graph at once"
        )


def without_sampling_inside(component: Component, batches: Batching | None) -> Component:
    """A GNN that draws neighbours itself gets those that the batch has, and draws no more."""
    gnn = component.gnn
    if batches is not None and batches.num_neighbors and isinstance(gnn, SAGE):
        gnn.num_neighbors = 0
    return component


def arrays(graph: Graph | Streamed) -> list[Any]:
    """All that a fit depends on of a graph, to be hashed."""
    if isinstance(graph, Graph):
        others = () if graph.hetero is None else graph.hetero.tensors()
        return [graph.x, graph.edge_index, *graph.of_edges(), graph.start_proba, *others]
    stored = graph.stored
    found: list[NDArray[Any] | None] = [stored.indptr, stored.indices, stored.x, stored.weight]
    return [*found, graph.edge_attr, graph.edge_type]
