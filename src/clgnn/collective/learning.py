"""Equation 3: iterations t = 0..T of masked, sampled, averaged gradient steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clgnn.collective.batches import Batches, Batching
from clgnn.collective.component import Component
from clgnn.collective.inference import TestGraph, infer, predict, predict_at
from clgnn.collective.iteration import Diverged, Epoch, Iteration, Schedule, Snapshots, Verdict, iterate
from clgnn.collective.sampling import LabelInput
from clgnn.collective.start import Start
from clgnn.collective.step import Loss, NotFinite, Part, gradient_step
from clgnn.collective.under_masks import UnderMasks
from clgnn.data.graph import Graph, known
from clgnn.engine.field import receptive_field
from clgnn.engine.rings import at_outputs
from clgnn.engine.streamed import Streamed

__all__ = ["Diverged", "Epoch", "Iteration", "Problem", "Schedule", "Validation", "Verdict", "learn"]


@dataclass(frozen=True)
class Validation:
    """What chooses between epochs, iterations and settings.

    Attributes:
        y: the labels that may be shown while validating, ``[N]``, unknown elsewhere.
        judged: the validation nodes, bool ``[N]``.
        rank: judges the predictions of these nodes, ``[judged nodes, ..]``.
        calibrate: the temperature and the share of doubt that the outputs of these nodes,
            ``[judged nodes, outputs]``, need.
        errors: how far chance may move the difference of each of several predictions of these nodes to the
            first one: its standard error, in the metric.

    These functions alone know the validation labels: they never come near the input.
    """

    y: Tensor
    judged: Tensor
    rank: Callable[[Tensor], Verdict]
    calibrate: Callable[[Tensor], tuple[float, float]] = lambda outputs: (1.0, 0.0)
    errors: Callable[[Sequence[Tensor]], list[float]] = lambda predictions: [0.0] * len(predictions)

    def to(self, device: torch.device) -> Validation:
        return replace(self, y=self.y.to(device), judged=self.judged.to(device))

    def judge(self, distribution: Tensor) -> Verdict:
        """Judges the predictions of all nodes, ``[N, ..]``."""
        return self.rank(distribution[self.judged])


@dataclass(frozen=True)
class Problem:
    """What is to be learned from.

    Attributes:
        graph: the training graph, N nodes.
        y: its training labels ``[N]``, unknown elsewhere.
        label_input: how labels enter.
        mask: draws the masks M of the gradient steps; None for M = 0 (test-unlabelled).
        validation: what chooses the best epoch; without it the last one is kept.
        test: the same graph as a prediction will see it. Validation judges the predictions there; with
            M = 0 they also are the Ŷ that training draws from.
        seed: where the randomness comes from.
        start: the first predictions; None for the paper's, which are those of Θ_0 with label columns.
        batching: how an epoch is split, on a graph that is gone through in pieces.
        loss: of the outputs ``[n, outputs]`` and labels ``[n]`` of the targets; None for their mean negative
            log-likelihood.
    """

    graph: Graph | Streamed
    y: Tensor
    label_input: LabelInput
    mask: Callable[[torch.Generator], Tensor] | None = None
    validation: Validation | None = None
    test: TestGraph | None = None
    seed: int = 0
    start: Start | None = None
    loss: Loss | None = None
    batching: Batching = field(default_factory=Batching)


def learn(
    problem: Problem,
    num_iterations: int,
    start: Callable[[Sequence[Component]], Component],
    schedule: Schedule,
    finished: Sequence[Component] = (),
    on_epoch: Callable[[Epoch], Any] = lambda epoch: None,
    snapshots: Snapshots | None = None,
) -> Iterator[Iteration]:
    """Learns Θ_0, .., Θ_T, one after the other.

    Iteration t depends on the seed and on Θ_0, .., Θ_{t-1} alone, so that it can start where an earlier
    run ended.

    Args:
        problem: what to learn from.
        num_iterations: T.
        start: gives the component that iteration t starts from, given those before it.
        schedule: of each iteration.
        finished: Θ_0, .., Θ_{t-1} of an earlier run.
        on_epoch: called after each epoch. If it gives True, the iteration ends there, and so does all.
        snapshots: where an iteration is written down from time to time, and goes on from; None for nowhere.

    Yields:
        Iterations t, .., T.
    """
    components = list(finished)
    under_masks = UnderMasks(problem) if problem.mask is not None else None
    predicted = None if problem.test is None else infer(components, problem.test)
    for t in range(len(components), num_iterations + 1):
        module_seed = int(np.random.SeedSequence([problem.seed, t]).generate_state(2)[1])
        # Dropout and initial weights draw from torch's global generators: seeded here, restored after.
        with torch.random.fork_rng():
            torch.manual_seed(module_seed)
            steps = _Steps(problem, t, start(components), components, predicted, under_masks)
            iteration = iterate(steps, schedule, on_epoch, snapshots)
        components.append(iteration.component)
        if iteration.stopped:
            yield iteration
            return
        if problem.test is not None and t < num_iterations:
            predicted = predict(iteration.component, problem.graph, problem.test.inputs(t, predicted))
        yield iteration


class _Steps:
    """The gradient steps of iteration t and their validation, each on its receptive field.

    Args:
        problem: what to learn from.
        t: the number of the iteration.
        component: where it starts.
        before: Θ_0, .., Θ_{t-1}.
        predicted: what they predict on ``problem.test``, ``[N, outputs]``.
        under_masks: what they predict under the mask of an epoch; None for M = 0.
    """

    def __init__(
        self,
        problem: Problem,
        t: int,
        component: Component,
        before: Sequence[Component],
        predicted: Tensor | None,
        under_masks: UnderMasks | None,
    ) -> None:
        self.problem, self.t, self.component, self.before = problem, t, component, before
        self.predicted, self.under_masks = predicted, under_masks
        columns, graph, runner = problem.label_input.columns, problem.graph, component.runner
        step_seed = int(np.random.SeedSequence([problem.seed, t]).generate_state(2)[0])
        self.generator = torch.Generator(graph.home).manual_seed(step_seed)
        self.hidden = torch.zeros_like(known(problem.y))  # M = 0
        if problem.validation is not None and problem.test is not None:
            # the same draws in every epoch, so that epochs can be compared
            self.inputs = problem.test.inputs(t, predicted)
        if isinstance(graph, Streamed):
            self.num_parts = problem.batching.num_parts
            self.batches = Batches(problem, t, component)
            return
        self.num_parts = 1
        self.part, self.nodes = receptive_field(runner, graph, known(problem.y), columns)
        here = None if predicted is None else predicted[self.nodes]
        self.unmasked = here, problem.y[self.nodes], self.hidden[self.nodes]
        if problem.validation is not None and problem.test is not None:
            judged = problem.validation.judged
            self.judged_part, around = receptive_field(runner, graph, judged, columns)
            self.judged = at_outputs(self.judged_part, judged[around])
            self.inputs = [labels[around] for labels in self.inputs]

    def epoch(self, number: int, first: int = 0) -> Iterator[tuple[int, Iterable[tuple[int, Part]]]]:
        """The steps of an epoch from the first that is left: how many targets each has, and its parts."""
        shown, predicted = self.hidden, self.predicted
        if self.under_masks is not None:
            shown, predicted = self.under_masks(number, self.before)
        if isinstance(self.problem.graph, Streamed):
            return self.batches.epoch(number, shown, predicted, first)
        if first > 0:  # one step is all
            return iter(())
        if self.under_masks is None:  # what they draw from is the same in every step
            here, y, shown = self.unmasked
        else:
            here = None if predicted is None else predicted[self.nodes]
            y, shown = self.problem.y[self.nodes], shown[self.nodes]
        labels = self.problem.label_input(here, y, shown, self.generator)
        return iter([(1, [(0, Part(self.part, y, shown, labels))])])

    def step(
        self,
        epoch: int,
        parts: Iterable[tuple[int, Part]],
        optimizer: torch.optim.Optimizer,
        max_grad_norm: float,
    ) -> float:
        """One gradient step; gives its loss."""
        loss_of = self.problem.loss or self.problem.label_input.family.loss
        try:
            return gradient_step(self.component, optimizer, parts, loss_of, max_grad_norm, self.num_parts)
        except NotFinite as error:
            raise Diverged(
                f"NaN or infinite values in {error}, in epoch {epoch} of iteration {self.t}; expected "
                "numbers: use a lower learning rate (lr), and look for very large values in x"
            ) from error

    def validate(self) -> Verdict | None:
        """What validation says of the weights as they are now; None without validation."""
        validation, graph = self.problem.validation, self.problem.graph
        if validation is None:
            return None
        if isinstance(graph, Streamed):
            return validation.rank(predict_at(self.component, graph, validation.judged, self.inputs))
        return validation.rank(predict(self.component, self.judged_part, self.inputs)[self.judged])
