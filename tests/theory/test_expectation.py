"""What is enumerated is what the engine samples."""

import pytest
import torch

from clgnn.collective.averaging import average, each_sample
from clgnn.collective.inference import TestGraph, infer, infer_samples
from clgnn.data.graph import known
from clgnn.theory import expected, random_components, theorem_2
from clgnn.theory.expectation import (
    assignments,
    double_graph,
    each_assignment,
    expectation,
    label_input,
    likelihood,
    plain,
)
from clgnn.theory.statement import standard_error


@pytest.fixture
def setting(gnn):
    data = theorem_2()
    graph = double_graph(data)
    return random_components(gnn, graph, 3, seed=0), graph, data.y, known(data.y)


def test_assignments_are_all_there_once_and_keep_what_is_shown():
    y = torch.tensor([1, 0, -1, -1])
    shown = torch.tensor([True, False, False, False])
    labels = assignments(y, shown)
    assert labels.shape == (4, 8, 2)
    assert bool((labels.sum(dim=2) == 1).all())
    assert labels[0].argmax(dim=1).tolist() == [1] * 8
    assert len(labels.argmax(dim=2).unique(dim=1).t()) == 8  # node 1 has a label, but it is not shown


def test_assignments_when_everything_is_shown():
    y = torch.tensor([1, 0])
    assert assignments(y, known(y)).argmax(dim=2).tolist() == [[1], [0]]


def test_too_many_assignments():
    with pytest.raises(ValueError, match="15 nodes without a label have 32768 assignments; expected 16384"):
        assignments(torch.full((15,), -1), torch.zeros(15, dtype=torch.bool))


def test_likelihoods_sum_to_one():
    y = torch.tensor([-1, 0, -1])
    predicted = torch.randn(3, 2, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    weights = likelihood(assignments(y, known(y)), predicted, known(y))
    p, q = predicted.softmax(dim=1)[0], predicted.softmax(dim=1)[2]
    assert torch.allclose(weights, torch.outer(p, q).flatten())
    assert float(weights.sum()) == pytest.approx(1)


def test_copies_side_by_side_are_the_engine_s_samples(setting):
    components, graph, y, shown = setting
    labels = assignments(y, shown)[:, :50]
    with torch.no_grad():
        ours = each_assignment(components[0], graph, labels)
        assert torch.allclose(ours, each_sample(components[0], graph, labels), atol=1e-12)


def test_an_even_prediction_gives_the_engine_s_average_of_all_assignments(setting):
    components, graph, y, shown = setting
    even = torch.zeros(10, 2, dtype=torch.double)
    with torch.no_grad():
        exact = expectation(components[1], graph, y, shown, even)
        assert torch.allclose(exact, average(components[1], graph, assignments(y, shown)), atol=1e-12)


def test_a_certain_prediction_gives_the_engine_s_output_for_it(setting):
    components, graph, y, shown = setting
    sure = torch.tensor([[50.0, -50.0]] * 4 + [[-50.0, 50.0]] * 6).double()
    labels = torch.where(shown, y, sure.argmax(dim=1))
    with torch.no_grad():
        exact = expectation(components[1], graph, y, shown, sure)
        one = average(components[1], graph, torch.eye(2).double()[labels].unsqueeze(1))
    assert torch.allclose(exact, one, atol=1e-12)


def test_iteration_0_sees_shown_labels_only(setting):
    components, graph, y, shown = setting
    hidden_changed = torch.where(shown, y, 1)
    assert torch.equal(
        plain(components[0], graph, y, shown), plain(components[0], graph, hidden_changed, shown)
    )
    assert torch.equal(expected(components[:1], graph, y, shown), plain(components[0], graph, y, shown))


def test_the_engine_s_draws_tend_to_the_expectation(setting):
    components, graph, y, shown = setting
    test = TestGraph(graph, y, [shown], label_input("sampled", 1000), seed=0)
    samples = infer_samples(components[:2], test)
    exact = expected(components[:2], graph, y, shown)
    error = (samples.mean(dim=1) - exact).abs() / standard_error(samples.transpose(0, 1))
    assert float(error.max()) < 5
    assert float(error.max()) > 0.1  # there is something to estimate


@pytest.mark.parametrize("sampling", ["iid", "systematic"])
def test_the_engine_s_recursion_tends_to_the_expectation(setting, sampling):
    """Through two iterations, whose draws follow one another; systematic draws are closer."""
    components, graph, y, shown = setting
    drawn = label_input("sampled", 20, sampling)
    runs = torch.stack([infer(components, TestGraph(graph, y, [shown], drawn, seed)) for seed in range(25)])
    exact = expected(components, graph, y, shown)
    bias = 1e-3  # of K = 20 in the second iteration, whose draws depend on the first's estimate
    assert bool(((runs.mean(dim=0) - exact).abs() < 5 * standard_error(runs) + bias).all())


def test_weights_follow_the_seed(gnn):
    graph = double_graph(theorem_2())
    before = torch.get_rng_state()
    one, two = (random_components(gnn, graph, 2, seed=3) for _ in range(2))
    other = random_components(gnn, graph, 2, seed=4)
    assert torch.equal(torch.get_rng_state(), before)

    def weights(components):
        return torch.cat([p.flatten() for c in components for p in c.parameters()])

    assert torch.equal(weights(one), weights(two))
    assert not torch.equal(weights(one), weights(other))
    assert weights(one).dtype == torch.double
    assert all(bool((p != 0).all()) for c in one for n, p in c.named_parameters() if n.endswith("eps"))
