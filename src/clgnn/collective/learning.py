"""Step 3: iterations t = 0..T of masked, sampled, averaged gradient steps (equation 3)."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from clgnn.collective.averaging import average
from clgnn.collective.field import receptive_field
from clgnn.collective.inference import infer
from clgnn.collective.sampling import LabelInput
from clgnn.component import Component
from clgnn.graph import Graph, known

KEPT_BYTES = 2**30
"""Predictions under masks are carried on in so much memory; what is more is computed again."""


@dataclass(frozen=True)
class Schedule:
    """How an iteration is optimised: at most ``max_epochs`` gradient steps, the best of them kept.

    Every ``eval_every`` of them, and the last, is validated.
    """

    max_epochs: int
    patience: int
    optimizer: Callable[[list[nn.Parameter]], torch.optim.Optimizer]
    max_grad_norm: float
    eval_every: int = 1


@dataclass(frozen=True)
class Validation:
    """What chooses the best epoch.

    Attributes:
        y: the labels that may be shown while validating, ``[N]``.
        shown: which of them are, bool ``[N]``.
        judged: the validation nodes, bool ``[N]``.
        score: of their outputs ``[judged nodes, outputs]``: the metric, and the loss that breaks ties. It
            alone knows the validation labels: they never come near the input.
        higher_is_better: what is good of the metric.
    """

    y: Tensor
    shown: Tensor
    judged: Tensor
    score: Callable[[Tensor], tuple[float, float]]
    higher_is_better: bool = True


@dataclass(frozen=True)
class Epoch:
    """One line of the history."""

    iteration: int
    epoch: int
    loss: float
    metric: float
    seconds: float


@dataclass
class Iteration:
    """Θ_t, and how it came about."""

    component: Component
    epochs: list[Epoch] = field(default_factory=list)


def gradient_step(
    component: Component,
    optimizer: torch.optim.Optimizer,
    graph: Graph,
    y: Tensor,
    shown: Tensor,
    predicted: Tensor | None,
    label_input: LabelInput,
    generator: torch.Generator,
    max_grad_norm: float = math.inf,
) -> float:
    r"""One step on the pseudolikelihood of the labels that the mask hides.

    .. math::
        -\frac{1}{|\bar M|} \sum_{v \in V_L} \bar M_v \log \sigma(W \bar Z_v(M; \Theta) + b)_{y_v}

    The graph may be a part of a larger one: nothing here asks where it comes from.

    Args:
        component: Θ, W and b, which are updated.
        optimizer: of their parameters.
        graph: N nodes.
        y: the training labels ``[N]``, unknown elsewhere.
        shown: the mask M, bool ``[N]``; the labels outside of it are the targets.
        predicted: the parameters of the last iteration's predictions under the same mask,
            ``[N, outputs]``, from which the K samples are drawn; None in iteration 0.
        label_input: how labels enter.
        generator: for the draws.
        max_grad_norm: gradients are clipped to this norm, the condition of proposition 2.

    Returns:
        The loss.
    """
    component.train()
    optimizer.zero_grad()
    targets = known(y) & ~shown
    output = average(component, graph, label_input(predicted, y, shown, generator))
    loss = label_input.family.loss(output[targets], y[targets])
    loss.backward()
    nn.utils.clip_grad_norm_(component.parameters(), max_grad_norm)
    optimizer.step()
    return loss.item()


def learn(
    graph: Graph,
    y: Tensor,
    label_input: LabelInput,
    num_iterations: int,
    start: Callable[[Sequence[Component]], Component],
    schedule: Schedule,
    mask: Callable[[torch.Generator], Tensor] | None = None,
    validation: Validation | None = None,
    seed: int = 0,
    finished: Sequence[Component] = (),
    on_epoch: Callable[[Epoch], Any] = lambda epoch: None,
) -> Iterator[Iteration]:
    """Learns Θ_0, .., Θ_T, one after the other.

    Iteration t depends on the seed and on Θ_0, .., Θ_{t-1} alone, so that it can start where an earlier
    run ended.

    Args:
        graph: the training graph.
        y: its training labels ``[N]``, unknown elsewhere.
        label_input: how labels enter.
        num_iterations: T.
        start: gives the component that iteration t starts from, given those before it.
        schedule: of each iteration.
        mask: draws the masks M of the gradient steps; None for M = 0 (test-unlabelled).
        validation: what chooses the best epoch; without it the last one is kept.
        seed: of all randomness.
        finished: Θ_0, .., Θ_{t-1} of an earlier run.
        on_epoch: called after each epoch.

    Yields:
        Iterations t, .., T.
    """
    components = list(finished)
    under_masks = None if mask is None else UnderMasks(graph, y, label_input, mask, seed)
    for t in range(len(components), num_iterations + 1):
        step_seed, module_seed = (int(s) for s in np.random.SeedSequence([seed, t]).generate_state(2))
        generator = torch.Generator(graph.x.device).manual_seed(step_seed)
        # Dropout and initial weights draw from torch's global generators: seeded here, restored after.
        with torch.random.fork_rng():
            torch.manual_seed(module_seed)
            component = start(components)
            iteration = _iterate(
                t,
                component,
                components,
                graph,
                y,
                label_input,
                schedule,
                under_masks,
                validation,
                generator,
                on_epoch,
            )
        components.append(iteration.component)
        yield iteration


class UnderMasks:
    """The mask M of an epoch, and Ŷ^(t-1) under that mask (equation 4).

    Each epoch of an iteration has a mask of its own; the next iteration has the same ones, so that the
    recursion under a mask goes on from where the last iteration left it: one pass a step, not t. What comes
    out depends on the seed, the epoch and Θ_0, .., Θ_{t-1} alone, kept or not.

    Args:
        graph: the training graph.
        y: its training labels ``[N]``.
        label_input: how labels enter.
        mask: draws a mask.
        seed: of all randomness.
    """

    def __init__(
        self,
        graph: Graph,
        y: Tensor,
        label_input: LabelInput,
        mask: Callable[[torch.Generator], Tensor],
        seed: int,
    ) -> None:
        self.graph, self.y, self.label_input, self.mask, self.seed = graph, y, label_input, mask, seed
        self.kept: dict[int, tuple[int, Tensor]] = {}  # epoch: how many components, what they predict

    def _generator(self, *numbers: int) -> torch.Generator:
        # a trailing 0 would be no number at all to a SeedSequence
        seed = np.random.SeedSequence([self.seed, *numbers, 1]).generate_state(1)[0]
        return torch.Generator(self.graph.x.device).manual_seed(int(seed))

    def __call__(self, epoch: int, components: Sequence[Component]) -> tuple[Tensor, Tensor | None]:
        shown = self.mask(self._generator(0, epoch))
        level, predicted = self.kept.get(epoch, (0, None))
        for number in range(level, len(components)):
            one, generator = components[number : number + 1], self._generator(number + 1, epoch)
            predicted = infer(one, self.graph, self.y, [shown], self.label_input, generator, predicted)
        if predicted is not None:
            room = (len(self.kept) + 1) * predicted.nbytes <= KEPT_BYTES
            if room or epoch in self.kept:
                self.kept[epoch] = len(components), predicted
        return shown, predicted


def _iterate(
    t: int,
    component: Component,
    before: Sequence[Component],
    graph: Graph,
    y: Tensor,
    label_input: LabelInput,
    schedule: Schedule,
    under_masks: UnderMasks | None,
    validation: Validation | None,
    generator: torch.Generator,
    on_epoch: Callable[[Epoch], Any],
) -> Iteration:
    """Iteration t: from the weights of ``component`` to those of the best epoch."""

    def predict_before(y: Tensor, shown: Tensor) -> Tensor | None:
        """Ŷ^(t-1), in evaluation mode."""
        return infer(before, graph, y, [shown], label_input, generator)

    shown = torch.zeros_like(known(y))
    predicted = predict_before(y, shown) if under_masks is None else None
    part, nodes = receptive_field(component, graph, known(y), label_input.columns)
    if validation is not None:  # the same draws in every epoch, so that epochs can be compared
        seen = predict_before(validation.y, validation.shown)
        judged_part, around = receptive_field(component, graph, validation.judged, label_input.columns)
        judged = validation.judged[around]
        validation_labels = label_input(
            _rows(seen, around), validation.y[around], validation.shown[around], generator
        )
    optimizer = schedule.optimizer(list(component.parameters()))
    epochs: list[Epoch] = []
    best, best_epoch, best_state = (-math.inf, -math.inf), 0, None
    began = time.perf_counter()
    for epoch in range(schedule.max_epochs):
        if under_masks is not None:
            shown, predicted = under_masks(epoch, before)
        loss = gradient_step(
            component,
            optimizer,
            part,
            y[nodes],
            shown[nodes],
            _rows(predicted, nodes),
            label_input,
            generator,
            schedule.max_grad_norm,
        )
        metric = math.nan
        due = (epoch + 1) % schedule.eval_every == 0 or epoch + 1 == schedule.max_epochs
        if validation is not None and due:
            component.eval()
            with torch.no_grad():
                outputs = average(component, judged_part, validation_labels)[judged]
            metric, validation_loss = validation.score(outputs)
            rank = (metric if validation.higher_is_better else -metric, -validation_loss)
            if best_state is None or rank > best:
                best, best_epoch = rank, epoch
                best_state = copy.deepcopy(component.state_dict())
        epochs.append(Epoch(t, epoch, loss, metric, time.perf_counter() - began))
        on_epoch(epochs[-1])
        if best_state is not None and due and epoch - best_epoch >= schedule.patience:
            break
    if best_state is not None:
        component.load_state_dict(best_state)
    return Iteration(component.eval(), epochs)


def _rows(predicted: Tensor | None, nodes: Tensor) -> Tensor | None:
    return None if predicted is None else predicted[nodes]
