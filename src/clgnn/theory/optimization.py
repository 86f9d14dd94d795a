"""Proposition 2: what gradient steps with K samples optimise, against enumeration on a small graph.

The graph is theorem 2's with its training labels: 0 for 1..4, 1 for 5..8. The mask shows 9 and 10. The others
are the targets of the step, and their labels are drawn from the last iteration's predictions, in 2^8 ways.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from clgnn.collective.averaging import average
from clgnn.collective.component import GNN, Component
from clgnn.collective.sampling import Sampling
from clgnn.collective.step import Part, gradient_step
from clgnn.data.graph import Graph, known
from clgnn.theory.expectation import (
    FAMILY,
    assignments,
    double_graph,
    each_assignment,
    label_input,
    likelihood,
    plain,
    random_components,
)
from clgnn.theory.graphs import theorem_2
from clgnn.theory.statement import LAYERS, STANDARD_ERRORS, Statement, standard_error

SAMPLES = 2
"""K: small, so that pairs of assignments can be enumerated."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Many steps on ten nodes: a second thread would only be waited for."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@dataclass(frozen=True)
class Step:
    """A gradient step of iteration 1, all that it could draw, and how likely that is.

    Attributes:
        component, graph, y, shown, predicted: as in :class:`clgnn.collective.step.Part`.
        labels: every assignment, ``[N, 2^8, C]``.
        weights: its probability, ``[2^8]``.
    """

    component: Component
    graph: Graph
    y: Tensor
    shown: Tensor
    predicted: Tensor
    labels: Tensor
    weights: Tensor

    @property
    def targets(self) -> Tensor:
        return known(self.y) & ~self.shown

    @property
    def parameters(self) -> list[nn.Parameter]:
        return list(self.component.parameters())

    def outputs(self) -> Tensor:
        """The outputs of every assignment for the targets, ``[2^8, targets, C]``."""
        return each_assignment(self.component, self.graph, self.labels)[self.targets].transpose(0, 1)

    def expected_output(self) -> Tensor:
        """The output at the expected representation, ``[targets, C]``."""
        return torch.einsum("k,kvo->vo", self.weights, self.outputs())

    def true_class(self, outputs: Tensor) -> Tensor:
        """The sum of (W Z_v + b)_{y_v} over the targets."""
        return outputs.gather(1, self.y[self.targets].unsqueeze(1)).sum()

    def loss(self, outputs: Tensor) -> Tensor:
        """The training loss of outputs ``[..., targets, C]``, ``[...]``."""
        each = torch.vmap(lambda output: FAMILY.loss(output, self.y[self.targets]))
        return each(outputs.flatten(0, -3)).view(outputs.shape[:-2])

    def expected_loss_of_one(self) -> Tensor:
        """The expected loss with K = 1."""
        return self.weights @ self.loss(self.outputs())

    def expected_loss_of_two(self) -> Tensor:
        """The expected loss with K = 2, over all pairs of assignments."""
        outputs = self.outputs()
        pairs = (outputs.unsqueeze(0) + outputs.unsqueeze(1)) / 2
        return self.weights @ self.loss(pairs) @ self.weights

    def gradient(self, value: Tensor) -> Tensor:
        """The gradient with respect to all parameters, in one row ``[P]``."""
        return torch.cat([part.flatten() for part in torch.autograd.grad(value, self.parameters)])


def training_step(gnn: GNN = "gin", seed: int = 0) -> Step:
    """The step, with random weights."""
    data = theorem_2()
    graph, shown = double_graph(data), known(data.y)
    y = torch.tensor([0] * 4 + [1] * 4 + [0] * 2)
    first, second = random_components(gnn, graph, 2, seed, LAYERS)
    predicted, labels = plain(first, graph, y, shown), assignments(y, shown)
    return Step(second, graph, y, shown, predicted, labels, likelihood(labels, predicted, shown))


def engine_steps(step: Step, repeats: int, seed: int, max_grad_norm: float) -> tuple[Tensor, Tensor]:
    """Losses ``[R]`` and gradients ``[R, P]`` of real gradient steps, all from the same weights."""
    still = torch.optim.SGD(step.parameters, lr=0.0)
    generator, drawn = torch.Generator().manual_seed(seed), label_input("sampled", SAMPLES)
    losses, gradients = [], []
    for _ in range(repeats):
        labels = drawn(step.predicted, step.y, step.shown, generator)
        part = Part(step.graph, step.y, step.shown, labels)
        losses.append(gradient_step(step.component, still, [(0, part)], drawn.family.loss, max_grad_norm))
        gradients.append(torch.cat([p.grad.flatten() for p in step.parameters if p.grad is not None]))
    return torch.tensor(losses, dtype=torch.double), torch.stack(gradients)


@one_thread()
def upper_bound(gnn: GNN = "gin", seed: int = 0, repeats: int = 300) -> Statement:
    r"""Proposition 2: the loss of K samples is an upper bound, in expectation, of the loss.

    By Jensen's inequality, as the loss :math:`\ell` is convex in the representation:

    .. math:: E[\ell(Z_1)] \geq E[\ell(\tfrac{1}{2}(Z_1 + Z_2))] \geq \ell(E[Z])

    All three are exact. The mean loss of real gradient steps is the second, give or take a few standard
    errors of the mean over the repetitions.
    """
    step = training_step(gnn, seed)
    with torch.no_grad():
        one, two = float(step.expected_loss_of_one()), float(step.expected_loss_of_two())
        loss = float(step.loss(step.expected_output().unsqueeze(0)))
    losses, _ = engine_steps(step, repeats, seed, math.inf)
    away = abs(float(losses.mean()) - two) / float(standard_error(losses))
    return Statement(
        "proposition 2, bound",
        "the expected loss of K samples is above the loss at the expected representation",
        {
            "loss": f"{loss:.4f}",
            "K=1 adds": one - loss,
            "K=2 adds": two - loss,
            f"mean of {repeats} steps": f"{away:.1f} standard errors from K=2",
        },
        one > two > loss and away < STANDARD_ERRORS,
    )


@one_thread()
def unbiased(
    gnn: GNN = "gin",
    seed: int = 0,
    repeats: int = 300,
    max_grad_norm: float = 5.0,
    sampling: Sampling = "iid",
) -> Statement:
    r"""Proposition 2: gradients of the K-sample estimate are unbiased, and the clipping bounds them.

    The gradient of :math:`\sum_v (W \bar Z_v + b)_{y_v}`, with :math:`\bar Z` from K draws, is compared with
    the one through the exact expectation; and the gradients of real steps with that of the exact expected
    loss of K samples. Distances are in standard errors of the mean over the repetitions, so that
    they are about 1 for an unbiased estimate.

    Clipping bounds every step, as the proposition asks, and is without bias while no gradient reaches the
    bound: the share that does is computed.
    """
    step = training_step(gnn, seed)
    generator, drawn = torch.Generator().manual_seed(seed), label_input("sampled", SAMPLES, sampling)
    estimates = []
    for _ in range(repeats):
        labels = drawn(step.predicted, step.y, step.shown, generator)
        output = average(step.component, step.graph, labels)[step.targets]
        estimates.append(step.gradient(step.true_class(output)))
    of_z = distance(torch.stack(estimates), step.gradient(step.true_class(step.expected_output())))
    _, gradients = engine_steps(step, repeats, seed, math.inf)
    of_loss = distance(gradients, step.gradient(step.expected_loss_of_two()))
    _, clipped = engine_steps(step, repeats, seed, max_grad_norm)
    largest, share = float(clipped.norm(dim=1).max()), gradients.norm(dim=1).gt(max_grad_norm).double().mean()
    return Statement(
        "proposition 2, gradients",
        f"gradients of K={SAMPLES} samples are unbiased, and bounded",
        {
            "mean gradient of Z": f"{of_z:.1f} standard errors from exact",
            "of the loss": f"{of_loss:.1f}",
            "largest norm": largest,
            f"clipped at {max_grad_norm:g}": f"{float(share):.0%}",
        },
        max(of_z, of_loss) < STANDARD_ERRORS and largest <= max_grad_norm * (1 + 1e-9),
    )


def distance(estimates: Tensor, exact: Tensor) -> float:
    """How far the mean of estimates ``[R, P]`` is from ``[P]``, in standard errors of that distance."""
    away = estimates.mean(dim=0) - exact
    return float(away.norm() / standard_error(estimates).norm())
