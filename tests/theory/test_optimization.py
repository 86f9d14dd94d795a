"""Proposition 2, against enumeration."""

import math

import pytest
import torch

from clgnn.collective.averaging import average
from clgnn.theory.expectation import FAMILY
from clgnn.theory.optimization import distance, engine_steps, training_step, unbiased, upper_bound


@pytest.fixture
def step(gnn):
    return training_step(gnn, seed=0)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_loss_of_k_samples_is_an_upper_bound(gnn, seed):
    statement = upper_bound(gnn, seed, repeats=100)
    assert statement.holds
    assert statement.computed["K=1 adds"] > statement.computed["K=2 adds"] > 0


@pytest.mark.parametrize("sampling", ["iid", "systematic"])
@pytest.mark.parametrize("seed", [0, 1])
def test_gradients_are_unbiased(gnn, seed, sampling):
    assert unbiased(gnn, seed, repeats=80, sampling=sampling).holds


def test_a_biased_gradient_is_found(step):
    """The mean of clipped gradients is not that of the loss, where the clipping bites: by far."""
    exact = step.gradient(step.expected_loss_of_two())
    _, gradients = engine_steps(step, 100, 0, math.inf)
    _, clipped = engine_steps(step, 100, 0, max_grad_norm=float(gradients.norm(dim=1).median()) / 2)
    assert distance(gradients, exact) < 4 < 10 < distance(clipped, exact)


def test_clipping_bounds_every_step_and_keeps_directions(step):
    _, gradients = engine_steps(step, 30, 0, math.inf)
    norms = gradients.norm(dim=1)
    bound = float(norms.median())
    _, clipped = engine_steps(step, 30, 0, bound)
    assert float(clipped.norm(dim=1).max()) <= bound * (1 + 1e-9)
    scale = (bound / norms).clamp(max=1).unsqueeze(1)
    assert torch.allclose(clipped, gradients * scale, rtol=1e-4)
    assert unbiased("gin", 0, repeats=20, max_grad_norm=bound).computed["largest norm"] <= bound * (1 + 1e-9)


def test_steps_that_are_not_clipped_are_as_without_it(step):
    plain, clipped = (engine_steps(step, 20, 0, bound)[1] for bound in (math.inf, 1e3))
    assert torch.equal(plain, clipped)


def test_the_loss_is_the_engine_s(step):
    with torch.no_grad():
        output = average(step.component, step.graph, step.labels[:, 3:4])[step.targets]
        assert torch.allclose(step.outputs()[3], output, atol=1e-12)
        direct = FAMILY.loss(output, step.y[step.targets])
        assert torch.allclose(step.loss(step.outputs())[3], direct, atol=1e-12)


def test_what_is_shown_is_no_target(step):
    assert step.targets.tolist() == [True] * 8 + [False] * 2
    assert float(step.weights.sum()) == pytest.approx(1)


def test_the_gradient_of_k_samples_is_that_of_the_bound_not_of_the_loss(step):
    """A caveat: what is optimised is the surrogate, whose gradient is close to the loss's but not it."""
    bound = step.gradient(step.expected_loss_of_two())
    loss = step.gradient(step.loss(step.expected_output().unsqueeze(0)).squeeze())
    assert 1e-6 < float((bound - loss).norm() / loss.norm()) < 0.5


def test_threads_are_given_back():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        upper_bound(repeats=2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
