import pytest
import torch

from clgnn.collective.averaging import average
from clgnn.collective.component import build
from clgnn.collective.inference import TestGraph, infer, infer_samples, stages
from clgnn.collective.sampling import Categorical, LabelInput
from clgnn.data.graph import as_graph, visible_labels


def components(g, count=3):
    made = []
    for t in range(count):
        torch.manual_seed(t)
        made.append(build("gcn", g, 3, 3, hidden_channels=8))
    return made


SOFT = LabelInput(Categorical(3), "soft", 1, "iid")
SAMPLED = LabelInput(Categorical(3), "sampled", 6, "systematic")


def test_no_components_no_predictions(graph, train):
    g = as_graph(graph)
    assert infer([], TestGraph(g, visible_labels(graph, train), [train], SAMPLED, 0)) is None


def test_the_recursion_is_the_one_of_the_paper(graph, train):
    """Soft labels draw nothing, so that it can be written out."""
    g, y = as_graph(graph), visible_labels(graph, train)
    made = components(g)
    none = torch.zeros_like(train)
    predicted = None
    for c in made:
        c.eval()
        with torch.no_grad():
            predicted = average(c, g, SOFT(predicted, y, none, torch.Generator()))
    assert torch.equal(infer(made, TestGraph(g, y, [none], SOFT, 0)), predicted)


def test_masks_are_averaged_at_every_iteration(graph, train):
    g, y = as_graph(graph), visible_labels(graph, train)
    made = components(g, 2)
    masks = [train & (torch.arange(24) % 2 == i) for i in (0, 1)]
    with torch.no_grad():
        first = torch.stack(
            [average(made[0].eval(), g, SOFT(None, y, m, torch.Generator())) for m in masks]
        ).mean(0)
        second = torch.stack(
            [average(made[1].eval(), g, SOFT(first, y, m, torch.Generator())) for m in masks]
        ).mean(0)
    assert torch.allclose(infer(made, TestGraph(g, y, masks, SOFT, 0)), second, atol=1e-6)


def test_single_samples_average_to_the_prediction(graph, train):
    g, y = as_graph(graph), visible_labels(graph, train)
    made = components(g)
    test = TestGraph(g, y, [train, torch.zeros_like(train)], SAMPLED, 0)
    samples = infer_samples(made, test)
    assert samples.shape == (24, 12, 3)
    assert torch.allclose(samples.mean(1), infer(made, test), atol=1e-5)


def test_permuting_the_nodes_permutes_the_predictions(graph, train):
    g, y = as_graph(graph), visible_labels(graph, train)
    order = torch.randperm(24, generator=torch.Generator().manual_seed(3))
    place = torch.empty_like(order).index_copy_(0, order, torch.arange(24))
    moved = graph.clone()
    moved.x, moved.edge_index, moved.y = graph.x[order], place[graph.edge_index], graph.y[order]
    made = components(g)
    out = infer(made, TestGraph(g, y, [train], SOFT, 0))
    again = infer(made, TestGraph(as_graph(moved), y[order], [train[order]], SOFT, 0))
    assert torch.allclose(again, out[order], atol=1e-5)


def test_permuting_the_nodes_permutes_the_distribution_of_sampled_predictions(graph, train):
    """Draws differ, their expectation does not."""
    g, y = as_graph(graph), visible_labels(graph, train)
    order = torch.randperm(24, generator=torch.Generator().manual_seed(3))
    place = torch.empty_like(order).index_copy_(0, order, torch.arange(24))
    moved = graph.clone()
    moved.x, moved.edge_index = graph.x[order], place[graph.edge_index]
    made, many = components(g, 2), LabelInput(Categorical(3), "sampled", 4000, "systematic")
    out = infer(made, TestGraph(g, y, [train], many, 0))
    again = infer(made, TestGraph(as_graph(moved), y[order], [train[order]], many, 1))
    assert torch.allclose(again, out[order], atol=0.02)


@pytest.mark.parametrize("labels", ["sampled", "soft", "observed"])
def test_a_mask_for_each_sample_is_the_mean_over_samples_that_each_have_one(labels, graph, train):
    """Iteration 0 draws nothing: its K samples are the K masks."""
    g, y = as_graph(graph), visible_labels(graph, train)
    (component,) = components(g, 1)
    masks = [train & (torch.arange(24) % 3 == i) for i in range(3)]
    label_input = LabelInput(Categorical(3), labels, 3, "iid")
    together = infer([component], TestGraph(g, y, [torch.stack(masks, dim=1)], label_input, 0))
    apart = infer([component], TestGraph(g, y, masks, label_input, 0))
    assert torch.allclose(together, apart, atol=1e-6)


def test_what_a_stage_draws_depends_on_seed_and_iteration_alone(graph, train):
    g, y = as_graph(graph), visible_labels(graph, train)
    made = components(g)
    test = TestGraph(g, y, [train], SAMPLED, 5)
    first, second, _ = stages(made, test)
    assert torch.equal(infer(made[:2], test), second)
    assert torch.equal(test.inputs(1, first)[0], test.inputs(1, first)[0])
    assert not torch.equal(test.inputs(1, first)[0], test.inputs(2, first)[0])
    other = TestGraph(g, y, [train], SAMPLED, 6)
    assert not torch.equal(test.inputs(1, first)[0], other.inputs(1, first)[0])
