"""A hidden layer in pieces against the same layer written out."""

import pytest
import torch

from clgnn.engine.dropout import dropout, dropout_mask, kept_factor
from clgnn.engine.pooled import mean_of_relu


def inputs():
    generator = torch.Generator().manual_seed(0)
    shapes = [(200, 6), (200, 3, 4), (6, 4)]
    return [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]


@pytest.mark.parametrize("piece", [1, 2**20])
@pytest.mark.parametrize("p", [0.0, 0.25, 0.3, 0.5, 1.0])
def test_it_is_the_mean_of_the_layer_written_out(p, piece, monkeypatch):
    """Values and gradients, with the same random numbers, in one piece and in several."""
    monkeypatch.setattr("clgnn.engine.pooled.PIECE", piece)
    features, labels, weight = values = inputs()
    results = []
    for written_out in (True, False):
        torch.manual_seed(1)
        if written_out:
            hidden = torch.relu(features.unsqueeze(1) + labels @ weight.t())
            out = dropout(hidden, p, training=True).mean(dim=1)
        else:
            out = mean_of_relu(features, labels, weight, p)
        results.append([out, *torch.autograd.grad(out.pow(2).sum(), values)])
    for wanted, found in zip(*results, strict=True):
        assert torch.allclose(found, wanted, atol=1e-12)


def test_no_nodes():
    assert mean_of_relu(torch.ones(0, 2), torch.ones(0, 3, 4), torch.ones(2, 4), 0.5).shape == (0, 2)


def test_no_labels():
    features = torch.tensor([[1.0, -1.0]])
    assert mean_of_relu(features, torch.ones(1, 1, 0), torch.ones(2, 0), 0.0).tolist() == [[1, 0]]


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.9999999])
def test_what_is_kept_has_one_factor(p):
    torch.manual_seed(0)
    h = torch.ones(2**18, dtype=torch.float64)
    assert dropout_mask(h, p).max() in (0, kept_factor(p, h.device))
