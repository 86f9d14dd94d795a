import pytest
import torch

from clgnn.engine.dropout import dropout


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_it_drops_its_share_and_keeps_the_expectation(p):
    torch.manual_seed(0)
    out = dropout(torch.ones(200_000), p, training=True)
    assert (out == 0).float().mean().item() == pytest.approx(p, abs=0.005)
    assert out.mean().item() == pytest.approx(1, abs=0.02)


def test_elements_are_dropped_independently():
    torch.manual_seed(0)
    kept = dropout(torch.ones(50_000, 8), 0.5, training=True).sign()
    correlation = torch.corrcoef(kept.t()) - torch.eye(8)
    assert float(correlation.abs().max()) < 0.03


def test_gradients_pass_through_what_is_kept():
    h = torch.rand(1000, requires_grad=True)
    out = dropout(h, 0.5, training=True)
    out.sum().backward()
    assert torch.equal(h.grad == 0, out == 0)


def test_nothing_is_dropped_in_evaluation_and_everything_at_one():
    h = torch.rand(10)
    assert dropout(h, 0.5, training=False) is h
    assert dropout(h, 0.0, training=True) is h
    assert int(dropout(h, 1.0, training=True).count_nonzero()) == 0


def test_it_follows_the_global_seed():
    outs = []
    for _ in range(2):
        torch.manual_seed(3)
        outs.append(dropout(torch.ones(1001), 0.3, training=True))
    assert torch.equal(*outs)


def test_a_probability_next_to_one_keeps_next_to_nothing():
    torch.manual_seed(0)
    assert int(dropout(torch.ones(10_000), 1 - 1e-6, training=True).count_nonzero()) < 10
