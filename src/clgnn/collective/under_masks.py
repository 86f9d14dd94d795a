"""Equation 4 under the mask of a gradient step: what the iterations so far predict from what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from clgnn.collective.component import Component
from clgnn.collective.inference import predict
from clgnn.collective.sampling import stream
from clgnn.collective.start import Start
from clgnn.data.graph import only

if TYPE_CHECKING:
    from clgnn.collective.learning import Problem

KEPT_BYTES = 2**30
"""Predictions under masks are carried on in so much memory; what is more is computed again."""


class UnderMasks:
    """The mask M of an epoch, and Ŷ^(t-1) under that mask (equation 4).

    Each epoch of an iteration has a mask of its own; the next iteration has the same ones, so that the
    recursion under a mask goes on from where the last iteration left it: one pass per step, not t. What comes
    out depends on the seed, the epoch and Θ_0, .., Θ_{t-1} alone, kept or not.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.kept: dict[int, tuple[int, Tensor]] = {}  # epoch: how many components, what they predict
        self.starts: dict[bytes, Tensor] = {}  # mask: the first predictions

    def __call__(self, epoch: int, components: Sequence[Component]) -> tuple[Tensor, Tensor | None]:
        problem = self.problem
        device, seed = problem.graph.x.device, problem.seed
        assert problem.mask is not None
        shown = problem.mask(stream(device, seed, 0, epoch))
        level, predicted = self.kept.get(epoch, (0, None))
        for number in range(level, len(components)):
            if number == 0 and problem.start is not None:
                predicted = self._started(problem.start, shown)
                continue
            generator = stream(device, seed, number + 1, epoch)
            labels = problem.label_input(predicted, problem.y, shown, generator)
            predicted = predict(components[number], problem.graph, [labels])
        if predicted is not None:
            room = (len(self.kept) + 1) * predicted.nbytes <= KEPT_BYTES
            if room or epoch in self.kept:
                self.kept[epoch] = len(components), predicted
        return shown, predicted

    def _started(self, start: Start, shown: Tensor) -> Tensor:
        """The first predictions under a mask; the same for all masks if they see no labels."""
        key = shown.cpu().numpy().tobytes() if start.sees_labels else b""
        if key not in self.starts:
            self.starts[key] = start.predict(self.problem.graph, only(self.problem.y, shown))
        return self.starts[key]
