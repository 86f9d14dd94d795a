import torch

from clgnn.collective.averaging import average
from clgnn.collective.inference import infer, infer_samples
from clgnn.collective.sampling import Categorical, LabelInput
from clgnn.component import build
from clgnn.graph import as_graph, visible_labels


def components(g, count=3):
    made = []
    for t in range(count):
        torch.manual_seed(t)
        made.append(build("gcn", g.x, g.edge_index, 3, 3, 8, None, 0.5))
    return made


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


SOFT = LabelInput(Categorical(3), "soft", 1, "iid")
SAMPLED = LabelInput(Categorical(3), "sampled", 6, "systematic")


def test_no_components_no_predictions(graph, train):
    g = as_graph(graph)
    assert infer([], g, visible_labels(graph, train), [train], SAMPLED, generator()) is None


def test_the_recursion_is_the_one_of_the_paper(graph, train):
    """Soft labels draw nothing, so that it can be written out."""
    g, y = as_graph(graph), visible_labels(graph, train)
    made = components(g)
    none = torch.zeros_like(train)
    predicted = None
    for c in made:
        c.eval()
        with torch.no_grad():
            predicted = average(c, g, SOFT(predicted, y, none, generator()))
    assert torch.equal(infer(made, g, y, [none], SOFT, generator()), predicted)


def test_masks_are_averaged_at_every_iteration(graph, train):
    g, y = as_graph(graph), visible_labels(graph, train)
    made = components(g, 2)
    masks = [train & (torch.arange(24) % 2 == i) for i in (0, 1)]
    with torch.no_grad():
        first = torch.stack([average(made[0].eval(), g, SOFT(None, y, m, generator())) for m in masks]).mean(
            0
        )
        second = torch.stack(
            [average(made[1].eval(), g, SOFT(first, y, m, generator())) for m in masks]
        ).mean(0)
    assert torch.allclose(infer(made, g, y, masks, SOFT, generator()), second, atol=1e-6)


def test_single_samples_average_to_the_prediction(graph, train):
    g, y = as_graph(graph), visible_labels(graph, train)
    made = components(g)
    masks = [train, torch.zeros_like(train)]
    samples = infer_samples(made, g, y, masks, SAMPLED, generator())
    assert samples.shape == (24, 12, 3)
    assert torch.allclose(samples.mean(1), infer(made, g, y, masks, SAMPLED, generator()), atol=1e-5)


def test_permuting_the_nodes_permutes_the_predictions(graph, train):
    g, y = as_graph(graph), visible_labels(graph, train)
    order = torch.randperm(24, generator=generator(3))
    place = torch.empty_like(order).index_copy_(0, order, torch.arange(24))
    moved = graph.clone()
    moved.x, moved.edge_index, moved.y = graph.x[order], place[graph.edge_index], graph.y[order]
    made = components(g)
    out = infer(made, g, y, [train], SOFT, generator())
    again = infer(made, as_graph(moved), y[order], [train[order]], SOFT, generator())
    assert torch.allclose(again, out[order], atol=1e-5)


def test_permuting_the_nodes_permutes_the_distribution_of_sampled_predictions(graph, train):
    """Draws differ, their expectation does not."""
    g, y = as_graph(graph), visible_labels(graph, train)
    order = torch.randperm(24, generator=generator(3))
    place = torch.empty_like(order).index_copy_(0, order, torch.arange(24))
    moved = graph.clone()
    moved.x, moved.edge_index = graph.x[order], place[graph.edge_index]
    made, many = components(g, 2), LabelInput(Categorical(3), "sampled", 4000, "systematic")
    out = infer(made, g, y, [train], many, generator())
    again = infer(made, as_graph(moved), y[order], [train[order]], many, generator(1))
    assert torch.allclose(again, out[order], atol=0.02)
