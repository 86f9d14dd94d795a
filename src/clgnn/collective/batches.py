"""The gradient steps of an epoch on a large graph: batches of targets, each with its neighbourhood."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from clgnn.collective.component import Component
from clgnn.collective.sampling import stream
from clgnn.collective.step import Part
from clgnn.data.graph import known, only
from clgnn.engine import processes
from clgnn.engine.neighbors import ALL, Field, fields, hops_of
from clgnn.engine.rings import Layered, in_order
from clgnn.engine.streamed import Streamed

if TYPE_CHECKING:
    from clgnn.collective.learning import Problem

BATCHES = 2**31 + 2
"""Sets the draws of batches apart from others."""


@dataclass(frozen=True)
class Batching:
    """How the targets of an epoch are split.

    Attributes:
        size: so many targets for each gradient step.
        num_neighbors: so many neighbours of each node, for each hop or the same for all; () for all of them.
        num_parts: a batch is computed in so many parts, which several processes share.
    """

    size: int = 1024
    num_neighbors: tuple[int, ...] = ()
    num_parts: int = 4

    def fanouts(self, hops: int) -> list[int]:
        """How many neighbours for each hop; a hop beyond the layers is for degrees alone, and needs one.

        Example:
            >>> Batching(num_neighbors=(5,)).fanouts(2), Batching(num_neighbors=(5, 3)).fanouts(3)
            ([5, 5], [5, 3, 1])
        """
        given = self.num_neighbors
        if not given:
            return [ALL] * hops
        if len(given) == 1:
            return list(given) * hops
        if len(given) > hops:
            raise ValueError(
                f"num_neighbors has {len(given)} numbers, and the gnn looks {hops} hops; expected one for "
                "each hop, or one for all"
            )
        return [*given, *[1] * (hops - len(given))]


class Batches:
    """The parts of the steps of iteration t.

    An epoch goes once through the targets of its mask, in random order. Every part has random numbers of its
    own, for its neighbours, its draws and its dropout, so that no other part and no process changes them.

    Args:
        problem: what to learn from, on a :class:`~clgnn.engine.streamed.Streamed` graph.
        t: the number of the iteration.
        component: to see how far it looks.
    """

    def __init__(self, problem: Problem, t: int, component: Component) -> None:
        assert isinstance(problem.graph, Streamed)
        self.problem, self.t, self.graph, self.batching = problem, t, problem.graph, problem.batching
        hops = hops_of(component.train().runner, self.graph, component.columns)
        self.fanouts = self.batching.fanouts(hops)
        self.gnn = component.runner.gnn

    def epoch(
        self, number: int, shown: Tensor, predicted: Tensor | None, first: int = 0
    ) -> Iterator[tuple[int, Iterator[tuple[int, Part]]]]:
        """The steps of an epoch: how many targets each has, and the parts of this process with their numbers.

        Args:
            number: of the epoch.
            shown: its mask M, bool ``[N]``.
            predicted: Ŷ under this mask, ``[N, outputs]``.
            first: the step to begin with.
        """
        key = (self.problem.seed, BATCHES, self.t, number)
        targets = (known(self.problem.y) & ~shown).nonzero().squeeze(1)
        targets = targets[torch.randperm(len(targets), generator=stream(targets.device, *key))]
        steps = []
        for begin in range(0, len(targets), self.batching.size)[first:]:
            batch = np.arange(begin, min(begin + self.batching.size, len(targets)))
            parts = np.array_split(batch, self.batching.num_parts)
            steps.append((targets[batch], [(i, part) for i, part in processes.own(parts) if len(part)]))
        places = [part.tolist() for _, own in steps for _, part in own]
        found = fields(self.graph, targets, places, self.fanouts, key)
        for nodes, own in steps:
            whole = self._mass(nodes)
            yield (
                len(nodes),
                (
                    (i, self._part(next(found), shown, predicted, whole, (*key, int(part[0]))))
                    for i, part in own
                ),
            )

    def _mass(self, targets: Tensor) -> float:
        return self.problem.label_input.family.mass(self.problem.y[targets])

    def _part(
        self, field: Field, shown: Tensor, predicted: Tensor | None, whole: float, key: tuple[int, ...]
    ) -> Part:
        """A part of a batch whose targets have the weight ``whole`` together."""
        nodes, device = field.nodes, self.graph.device
        graph = field.graph
        if isinstance(self.gnn, Layered) and graph.edge_type is None:
            graph = in_order(self.gnn, graph, list(accumulate(field.hops)))
        seen = shown[nodes]
        y = only(self.problem.y[nodes], seen | (torch.arange(len(nodes)) < field.asked))
        here = None if predicted is None else predicted[nodes]
        generator = stream(nodes.device, *key)
        labels = self.problem.label_input(here, y, seen, generator)
        share = self._mass(nodes[: field.asked]) / whole
        seed = int(torch.randint(2**31, (1,), generator=generator))
        return Part(graph, y.to(device), seen.to(device), labels.to(device), share, seed)
