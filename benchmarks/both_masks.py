"""A variant of ``python -m benchmarks.choices``: a mask and its complement in one gradient step.

Then every training label is a target in every step. The step costs two passes in place of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from clgnn import CollectiveClassifier
from clgnn.collective.learning import Problem, Schedule
from clgnn.collective.masking import draw_mask
from clgnn.data.graph import known


class EverySecond(torch.optim.Adam):
    """Adam on the mean gradient of two passes; it steps after the second."""

    passes = 0

    def zero_grad(self, set_to_none: bool = True) -> None:
        if self.passes % 2 == 0:
            super().zero_grad(set_to_none)

    def step(self, closure: Any = None) -> Any:
        self.passes += 1
        if self.passes % 2 == 0:
            for group in self.param_groups:
                for weight in group["params"]:
                    if weight.grad is not None:
                        weight.grad.mul_(0.5)
            return super().step(closure)
        return None


class Complements:
    """Gives a random half of the training labels, then the other half, then another random half, .."""

    def __init__(self, train: Tensor) -> None:
        self.train, self.last = train, None

    def __call__(self, generator: torch.Generator) -> Tensor:
        if self.last is not None:
            other, self.last = self.train & ~self.last, None
            return other
        self.last = draw_mask(self.train, 0.5, generator)
        return self.last


@dataclass(repr=False, eq=False)
class BothMasks(CollectiveClassifier):
    """Collective learning whose iterations have as many steps as always, of two masks each."""

    def _problem(self, *args: Any, **options: Any) -> Problem:
        problem = super()._problem(*args, **options)
        if problem.mask is None:
            return problem
        return replace(problem, mask=Complements(known(problem.y)))

    def _schedule(self, t: int) -> Schedule:
        given = super()._schedule(t)
        if t == 0:
            return given

        def optimizer(weights: Any) -> EverySecond:
            return EverySecond(weights, lr=float(self.lr), weight_decay=float(self.weight_decay), fused=True)

        twice = {name: 2 * getattr(given, name) for name in ("max_epochs", "patience", "eval_every")}
        return replace(given, optimizer=optimizer, **twice)
