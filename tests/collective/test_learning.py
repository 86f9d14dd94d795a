import math
import zlib

import pytest
import torch

from clgnn.collective.averaging import average
from clgnn.collective.component import build
from clgnn.collective.inference import TestGraph
from clgnn.collective.learning import (
    Diverged,
    Problem,
    Schedule,
    Validation,
    Verdict,
    learn,
)
from clgnn.collective.masking import draw_mask
from clgnn.collective.sampling import Categorical, LabelInput, stream
from clgnn.collective.step import Part, gradient_step
from clgnn.collective.under_masks import UnderMasks
from clgnn.data.graph import as_graph, visible_labels

SAMPLED = LabelInput(Categorical(3), "sampled", 4, "systematic")


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.01)


def component(g, seed=0, dropout=0.5):
    torch.manual_seed(seed)
    return build("gcn", g, 3, 3, hidden_channels=8, num_layers=None, dropout=dropout)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def weights(c):
    return torch.cat([p.detach().flatten() for p in c.parameters()])


def test_a_step_is_blind_to_shown_labels_as_targets(graph, train):
    """Labels inside the mask are input; only the others are in the loss."""
    g, y = as_graph(graph), visible_labels(graph, train)
    shown = torch.arange(24) < 9  # of the ten training labels, one is the target
    c = component(g, dropout=0.0)
    labels = SAMPLED(None, y, shown, generator())
    loss = gradient_step(c, adam(c.parameters()), [(0, Part(g, y, shown, labels))], SAMPLED.family.loss)
    fresh = component(g, dropout=0.0)
    out = average(fresh, g, labels)
    assert loss == pytest.approx(torch.nn.functional.cross_entropy(out[9:10], y[9:10]).item(), abs=1e-6)


def test_a_target_is_never_input(graph, train):
    """Changing the targets changes no bit of the input, whatever the mask and the step."""
    y = visible_labels(graph, train)
    predicted = torch.randn(24, 3, generator=generator(5))
    for seed in range(20):
        shown = draw_mask(train, 0.5, generator(seed))
        changed = torch.where(train & ~shown, (y + 1) % 3, y)
        a = SAMPLED(predicted, y, shown, generator(seed))
        b = SAMPLED(predicted, changed, shown, generator(seed))
        assert torch.equal(a, b)
        assert not torch.equal(y, changed)


def test_gradients_are_clipped(graph, train):
    g, y = as_graph(graph), visible_labels(graph, train)
    moved = {}
    for limit in (1e-4, math.inf):
        c = component(g, dropout=0.0)
        before = weights(c)
        sgd = torch.optim.SGD(c.parameters(), lr=1.0)
        hidden = torch.zeros_like(train)
        labels = SAMPLED(None, y, hidden, generator())
        gradient_step(c, sgd, [(0, Part(g, y, hidden, labels))], SAMPLED.family.loss, limit)
        moved[limit] = (weights(c) - before).norm().item()
    assert moved[1e-4] == pytest.approx(1e-4, rel=1e-2)
    assert moved[math.inf] > 1e-2


def verdict(score, loss=0.0):
    return Verdict(score, -loss, score)


def run(
    graph, train, rank=None, finished=(), mask=None, epochs=6, patience=100, every=1, seed=0, iterations=2
):
    g, y = as_graph(graph), visible_labels(graph, train)
    nobody = torch.zeros_like(train)
    test = TestGraph(g, torch.full_like(y, -1), [nobody], SAMPLED, seed)
    validation = None if rank is None else Validation(test.y, torch.ones_like(train), rank)
    problem = Problem(g, y, SAMPLED, mask, validation, test if rank or mask is None else None, seed)
    schedule = Schedule(epochs, patience, adam, 1.0, every)

    def begin(before):
        return build("gcn", g, 3, 3, hidden_channels=8)

    return list(learn(problem, iterations, begin, schedule, finished))


def test_same_seed_same_bits_and_the_global_state_is_left_alone(graph, train):
    torch.manual_seed(123)
    expected = torch.rand(3)
    torch.manual_seed(123)
    first = run(graph, train)
    assert torch.equal(torch.rand(3), expected)
    again, other = run(graph, train), run(graph, train, seed=1)
    for a, b, c in zip(first, again, other, strict=True):
        assert torch.equal(weights(a.component), weights(b.component))
        assert not torch.equal(weights(a.component), weights(c.component))
        assert [e.loss for e in a.epochs] == [e.loss for e in b.epochs]


def test_going_on_after_finished_iterations_equals_an_uninterrupted_run(graph, train):
    whole = run(graph, train)
    rest = run(graph, train, finished=[whole[0].component])
    assert len(rest) == 2
    for a, b in zip(whole[1:], rest, strict=True):
        assert torch.equal(weights(a.component), weights(b.component))


def test_the_best_epoch_is_kept(graph, train):
    seen = []
    values = iter([0.1, 0.9, 0.3, 0.9, 0.2, 0.1] * 3)

    def score(outputs):
        seen.append(outputs.clone())
        return verdict(next(values), float(len(seen)))  # a later epoch has a larger loss: it loses ties

    g, y = as_graph(graph), visible_labels(graph, train)
    first = run(graph, train, score)[0]
    none = torch.zeros_like(train)
    labels = SAMPLED(None, y, none, generator())
    with torch.no_grad():
        assert torch.equal(average(first.component, g, labels), seen[1])


def test_patience_ends_an_iteration(graph, train):
    values = iter([0.5] + [0.1] * 100)
    iterations = run(graph, train, lambda outputs: verdict(next(values)), epochs=50, patience=3)
    assert len(iterations[0].epochs) == 4


def test_validation_looks_every_so_often_and_at_the_last_epoch(graph, train):
    looks = []

    def rank(outputs):
        looks.append(1)
        return verdict(float(len(looks)))

    (iteration,) = run(graph, train, rank, epochs=7, every=3, iterations=0)
    assert [math.isnan(e.metric) for e in iteration.epochs] == [True, True, False, True, True, False, False]


def test_a_metric_that_is_not_a_number_never_wins(graph, train):
    """The first epoch has none; it must not stay the best for ever."""
    values = iter([Verdict(-math.inf, 0.0, math.nan), verdict(0.1), verdict(0.2), verdict(0.1)])
    (iteration,) = run(graph, train, lambda outputs: next(values), epochs=4, iterations=0, patience=2)
    assert len(iteration.epochs) == 4
    (third,) = run(graph, train, epochs=3, iterations=0)
    assert torch.equal(weights(iteration.component), weights(third.component))


@pytest.mark.filterwarnings("ignore")
def test_a_loss_that_is_not_a_number_ends_training_with_a_reason(graph, train):
    graph.x = graph.x * 1e38
    with pytest.raises(
        Diverged,
        match=r"values in the outputs of the GNN, in epoch \d+ of iteration 0; .* lower learning rate",
    ):
        run(graph, train, epochs=50)


def test_each_step_of_an_iteration_has_a_mask_of_its_own(graph, train):
    drawn = []

    def mask(random):
        drawn.append(draw_mask(train, 0.5, random))
        return drawn[-1]

    run(graph, train, mask=mask, epochs=5)
    masks = [tuple(m.tolist()) for m in drawn]
    assert len(set(masks[:5])) == 5
    assert masks[:5] == masks[5:10] == masks[10:]  # so that predictions under them can be carried on


def half(train):
    return lambda random: draw_mask(train, 0.5, random)


def test_predictions_of_a_step_come_from_its_mask_and_all_components_before(graph, train):
    """What is carried on from one iteration to the next is the recursion from its start."""
    g, y = as_graph(graph), visible_labels(graph, train)
    components = [component(g, seed).eval() for seed in range(3)]
    problem = Problem(g, y, SAMPLED, half(train), seed=7)
    carried, afresh = UnderMasks(problem), UnderMasks(problem)
    for t in range(3):
        shown, predicted = carried(4, components[:t])
    again, expected = afresh(4, components[:2])
    assert torch.equal(shown, again)
    assert torch.equal(predicted, expected)
    other, _ = afresh(5, components[:2])
    assert not torch.equal(shown, other)
    by_hand = None
    for level in range(2):
        random = stream(torch.device("cpu"), 7, level + 1, zlib.crc32(shown.numpy()), 0)
        with torch.no_grad():
            by_hand = average(components[level], g, SAMPLED(by_hand, y, shown, random))
    assert torch.equal(predicted, by_hand)


def test_without_memory_for_predictions_they_are_computed_again(graph, train, monkeypatch):
    kept = run(graph, train, mask=half(train))
    monkeypatch.setattr("clgnn.collective.under_masks.KEPT_BYTES", 0)
    for a, b in zip(kept, run(graph, train, mask=half(train)), strict=True):
        assert torch.equal(weights(a.component), weights(b.component))


def test_going_on_equals_an_uninterrupted_run_with_masks_too(graph, train):
    whole = run(graph, train, mask=half(train))
    rest = run(graph, train, finished=[i.component for i in whole[:2]], mask=half(train))
    assert torch.equal(weights(whole[2].component), weights(rest[0].component))
