"""Batches of targets: with all neighbours, their gradient is that of the whole graph."""

import math

import pytest
import torch

from clgnn.collective.batches import Batches, Batching
from clgnn.collective.component import build
from clgnn.collective.learning import Problem
from clgnn.collective.sampling import Bernoulli, Categorical, Gaussian, LabelInput
from clgnn.collective.step import Part, gradient_step
from clgnn.data.graph import as_graph, known, visible_labels
from clgnn.engine.streamed import streamed
from clgnn.nn import GCN, SAGE

CPU = torch.device("cpu")


def labels_of(family, graph, train):
    if isinstance(family, Categorical):
        return visible_labels(graph, train)
    generator = torch.Generator().manual_seed(0)
    if isinstance(family, Gaussian):
        return torch.where(train, torch.randn(24, generator=generator), torch.nan)
    y = torch.randint(2, (24, 3), generator=generator).double()
    y[4, 1] = torch.nan
    return torch.where(train.unsqueeze(1), y, torch.nan)


def changed(component, problem, parts, num_parts):
    """What a step of plain gradient descent makes of the weights, and the loss."""
    sgd = torch.optim.SGD(component.parameters(), lr=1.0)
    loss = gradient_step(component, sgd, parts, problem.label_input.family.loss, math.inf, num_parts)
    return [loss, *(p.detach().clone() for p in component.parameters())]


@pytest.mark.parametrize(
    "gnn",
    [
        "gcn",
        "gin",
        "snowball",
        lambda i, o: GCN(i, 6, o, dropout=0.0, normalization="sym"),
        lambda i, o: GCN(i, 6, o, dropout=0.0, num_layers=3),
        lambda i, o: SAGE(i, 6, o, dropout=0.0, num_neighbors=0),
    ],
)
@pytest.mark.parametrize(
    "family",
    [Categorical(3), Categorical(3, (0.2, 1.0, 4.0)), Gaussian(), Bernoulli(3)],
    ids=["classes", "weighted", "numbers", "several"],
)
def test_the_parts_of_a_batch_make_the_step_of_the_whole_graph(graph, train, gnn, family):
    """Whatever the label, its weight, and the number of parts; also where a mask shows some labels."""
    small = as_graph(graph)
    y = labels_of(family, graph, train)
    shown = train & (torch.arange(24) % 3 == 0)
    label_input = LabelInput(family, "soft", 4, "systematic")
    predicted = torch.randn(24, family.outputs, generator=torch.Generator().manual_seed(2))
    problem = Problem(streamed(small, CPU), y, label_input, batching=Batching(100, (), 3))

    def component():
        torch.manual_seed(0)
        return build(gnn, small, family.columns, family.outputs, hidden_channels=8, num_layers=2, dropout=0.0)

    whole = Part(small, y, shown, label_input(predicted, y, shown, torch.Generator()))
    expected = changed(component(), problem, [(0, whole)], 1)
    ((count, parts),) = Batches(problem, 1, component()).epoch(0, shown, predicted)
    assert count == int((known(y) & ~shown).sum())
    found = changed(component(), problem, parts, 3)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(torch.as_tensor(one), torch.as_tensor(other), rtol=1e-4, atol=1e-5)


def test_an_epoch_has_every_target_once_and_shows_no_target(graph, train):
    y, shown = visible_labels(graph, train), train & (torch.arange(24) < 4)
    label_input = LabelInput(Categorical(3), "observed", 4, "systematic")
    problem = Problem(streamed(as_graph(graph), CPU), y, label_input, batching=Batching(4, (2,), 3))
    component = build("gcn", as_graph(graph), 3, 3)
    batches = Batches(problem, 1, component)
    steps = [(count, list(parts)) for count, parts in batches.epoch(0, shown, None)]
    assert [count for count, _ in steps] == [4, 2]
    for count, parts in steps:
        assert math.isclose(sum(part.share for _, part in parts), 1.0)
        targets = [int((known(part.y) & ~part.shown).sum()) for _, part in parts]
        assert sum(targets) == count
        for _, part in parts:
            hidden = ~part.shown
            assert not part.labels[hidden].any()
    again = [part for _, parts in batches.epoch(0, shown, None, first=1) for _, part in parts]
    for (_, one), other in zip(steps[1][1], again, strict=True):
        assert torch.equal(one.graph.x, other.graph.x)
        assert one.seed == other.seed


def test_more_numbers_than_hops_are_refused():
    with pytest.raises(ValueError, match="num_neighbors has 3 numbers, and the gnn looks 2 hops"):
        Batching(num_neighbors=(3, 3, 3)).fanouts(2)
