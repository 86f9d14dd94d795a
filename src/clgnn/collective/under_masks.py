"""Equation 4 under the mask of a gradient step: what the iterations so far predict from what it shows."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from clgnn.collective.component import Component
from clgnn.collective.inference import drawn, predict
from clgnn.collective.sampling import stream
from clgnn.collective.start import Start
from clgnn.data.graph import only

if TYPE_CHECKING:
    from clgnn.collective.learning import Problem

KEPT_BYTES = 2**30
"""Predictions under masks are carried on in so much memory; what is more is computed again."""


class UnderMasks:
    """The mask M of an epoch, and Ŷ^(t-1) under that mask (equation 4).

    Each epoch of an iteration has a mask of its own, or one of a pool; the next iteration has the same ones,
    so that the recursion under a mask goes on from where the last iteration left it: one pass per mask, not
    t. What comes out depends on the seed, the mask and Θ_0, .., Θ_{t-1} alone, kept or not.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.kept: dict[int, tuple[int, Tensor]] = {}  # mask: how many components, what they predict
        self.starts: dict[int, Tensor] = {}  # mask: the first predictions

    def __call__(self, epoch: int, components: Sequence[Component]) -> tuple[Tensor, Tensor | None]:
        problem = self.problem
        assert problem.mask is not None
        shown = problem.mask(stream(problem.graph.home, problem.seed, 0, epoch))
        mask = zlib.crc32(shown.cpu().numpy().tobytes())  # a number that the mask alone decides
        level, predicted = self.kept.get(mask, (0, None))
        for number in range(level, len(components)):
            if number == 0 and problem.start is not None:
                predicted = self._started(problem.start, shown, mask)
                continue
            key = problem.seed, number + 1, mask
            labels = drawn(problem.label_input, problem.graph, predicted, problem.y, shown, *key)
            predicted = predict(components[number], problem.graph, [labels])
        if predicted is not None:
            room = (len(self.kept) + 1) * predicted.nbytes <= KEPT_BYTES
            if room or mask in self.kept:
                self.kept[mask] = len(components), predicted
        return shown, predicted

    def _started(self, start: Start, shown: Tensor, mask: int) -> Tensor:
        """The first predictions under a mask; the same for all masks if they see no labels."""
        key = mask if start.sees_labels else -1
        if key not in self.starts:
            self.starts[key] = start.predict(self.problem.graph, only(self.problem.y, shown))
        return self.starts[key]
