import pytest
import torch
from scipy import stats

from clgnn.collective.sampling import Categorical, Gaussian, LabelInput, points


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("sampling", ["iid", "systematic"])
def test_every_point_is_uniform(sampling):
    u = points(4000, 5, sampling, generator())
    assert bool(((u >= 0) & (u < 1)).all())
    for k in range(5):
        assert stats.kstest(u[:, k].numpy(), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("sampling", ["iid", "systematic"])
def test_draws_have_the_right_distribution(sampling):
    p = torch.tensor([0.5, 0.3, 0.15, 0.05])
    family = Categorical(4)
    drawn = family.draw(p.log().expand(6000, 4), points(6000, 3, sampling, generator()))
    assert bool((drawn.sum(2) == 1).all())
    for k in range(3):  # each single sample, not only their mean
        counts = drawn[:, k].sum(0)
        assert stats.chisquare(counts.numpy(), (p * 6000).numpy()).pvalue > 1e-4


def test_systematic_draws_hit_each_class_as_often_as_they_should():
    p = torch.rand(500, 6, generator=generator()).log_softmax(1)
    counts = Categorical(6).draw(p, points(500, 10, "systematic", generator())).sum(1)
    assert bool(((counts - 10 * p.exp()).abs() < 1 + 1e-4).all())


def test_systematic_draws_are_independent_between_nodes():
    p = torch.full((2, 2), 0.5).log()
    family = Categorical(2)
    random = generator()
    pairs = torch.stack([family.draw(p, points(2, 4, "systematic", random))[:, :, 1] for _ in range(3000)])
    for k in range(4):
        a, b = pairs[:, 0, k].numpy(), pairs[:, 1, k].numpy()
        table = [[((a == i) & (b == j)).sum() for j in (0, 1)] for i in (0, 1)]
        assert stats.chi2_contingency(table).pvalue > 1e-4


def test_systematic_draws_average_with_less_variance():
    p = torch.rand(200, 5, generator=generator()).log_softmax(1)
    family = Categorical(5)

    def variance(sampling):
        random = generator()
        means = [family.draw(p, points(200, 4, sampling, random)).mean(1) for _ in range(200)]
        return torch.stack(means).var(0).mean().item()

    assert variance("systematic") < 0.7 * variance("iid")


def test_extreme_probabilities_never_draw_an_impossible_class():
    logits = torch.tensor([[0.0, -200.0, 0.0], [-200.0, 0.0, -200.0]])
    u = torch.tensor([[0.0, 0.5, 1 - 2**-24]]).expand(2, 3)
    drawn = Categorical(3).draw(logits, u).argmax(2)
    assert drawn.tolist() == [[0, 2, 2], [1, 1, 1]]


def test_gaussian_draws_have_mean_and_scale():
    family = Gaussian()
    parameters = torch.tensor([[2.0, 0.5]]).expand(4000, 2)
    drawn = family.draw(parameters, points(4000, 2, "iid", generator()))[:, :, 0]
    scale = family.scale(parameters)[0].item()
    assert stats.kstest(drawn[:, 0].numpy(), "norm", args=(2.0, scale)).pvalue > 1e-4


def test_the_gaussian_loss_is_the_negative_log_density():
    parameters, y = torch.randn(10, 2, generator=generator()), torch.randn(10, generator=generator(1))
    normal = torch.distributions.Normal(parameters[:, 0], Gaussian().scale(parameters))
    assert torch.allclose(Gaussian().loss(parameters, y), -normal.log_prob(y).mean(), atol=1e-6)


def test_class_weights_weigh_the_loss():
    logits, y = torch.zeros(2, 2), torch.tensor([0, 1])
    logits[0, 0] = 2.0
    heavy = Categorical(2, (1.0, 9.0)).loss(logits, y)
    assert heavy > Categorical(2).loss(logits, y)


@pytest.fixture
def labels():
    return torch.tensor([0, 1, -1, -1]), torch.tensor([True, False, False, False])


@pytest.mark.parametrize("kind", ["sampled", "soft", "uniform", "observed"])
def test_shown_labels_are_in_and_hidden_labels_are_not(kind, labels):
    y, shown = labels
    predicted = torch.tensor([[-9.0, 9.0]]).expand(4, 2)
    columns = LabelInput(Categorical(2), kind, 5, "iid")(predicted, y, shown, generator())
    assert bool((columns[0] == torch.tensor([1.0, 0.0])).all())
    changed = torch.where(shown, y, 1 - y.clamp(min=0))
    again = LabelInput(Categorical(2), kind, 5, "iid")(predicted, changed, shown, generator())
    assert torch.equal(columns, again)


def test_what_stands_in_for_unknown_labels(labels):
    y, shown = labels
    predicted = torch.tensor([[0.0, 2.0]]).expand(4, 2)

    def columns(kind, predicted=predicted):
        return LabelInput(Categorical(2), kind, 400, "systematic")(predicted, y, shown, generator())[1:]

    p = predicted[0].softmax(0)
    assert torch.allclose(columns("soft").squeeze(1), p.expand(3, 2))
    assert torch.allclose(columns("sampled").mean(1), p.expand(3, 2), atol=0.01)
    assert torch.allclose(columns("uniform").mean(1), torch.tensor(0.5), atol=0.01)
    assert int(columns("observed").sum()) == 0
    assert int(columns("sampled", None).sum()) == 0  # iteration 0
    assert LabelInput(Categorical(2), "none", 4, "iid")(None, y, shown, generator()).shape == (4, 1, 0)
