"""NaN and infinity stop a fit or a prediction, and the message says where they came up first."""

import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from clgnn import CollectiveClassifier, CollectiveRegressor


class Broken(nn.Module):
    """A GNN that is right until it is trained."""

    def __init__(self, inputs, outputs, way):
        super().__init__()
        self.convolution, self.way, self.calls = GCNConv(inputs, outputs), way, 0

    def forward(self, x, edge_index):
        z = self.convolution(x, edge_index)
        self.calls += self.training
        if self.way == "gradients":  # finite, but its slope at 0 is not
            return z + (z - z).abs().sqrt()
        if self.way == "outputs" and self.calls > 3:
            return z * float("nan")
        return z


def fit(way="", x=None, **settings):
    ring = torch.arange(12)
    x = torch.randn(12, 3, generator=torch.Generator().manual_seed(0)) if x is None else x
    data = Data(x=x, edge_index=torch.stack([ring, ring.roll(1)]), y=ring % 2)
    given = {
        "max_epochs": 8,
        "iteration_epochs": 4,
        "num_iterations": 1,
        "num_samples": 2,
        "calibrate": False,
        **settings,
    }
    model = CollectiveClassifier(lambda i, o: Broken(i, o, way), **given)
    return model.fit(data, ring < 8), data


def test_outputs():
    with pytest.raises(
        ValueError, match=r"values in the outputs of the GNN, in epoch 3 of iteration 0; .*learning rate"
    ):
        fit("outputs")


def test_gradients_are_named_and_no_weight_has_changed():
    with pytest.raises(
        ValueError, match=r"values in the gradient of \S+convolution\S+, in epoch 0 of iteration 0"
    ):
        fit("gradients")


def test_the_loss():
    def loss(outputs, labels):
        return outputs.sum() * 0 + float("inf")

    with pytest.raises(ValueError, match=r"values in the loss, in epoch 0 of iteration 0"):
        fit(loss=loss)


class Throws(torch.optim.SGD):
    """An optimiser that throws a weight away."""

    def step(self, closure=None):
        with torch.no_grad():
            self.param_groups[0]["params"][0].fill_(float("nan"))


def test_weights():
    with pytest.raises(ValueError, match=r"values in \S+, weights of iteration 0; expected numbers"):
        fit(optimizer=lambda weights: Throws(weights, lr=0.1), max_epochs=1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e39])
def test_x(value):
    x = torch.ones(12, 3, dtype=torch.float64)
    x[5, 1] = value
    with pytest.raises(ValueError, match="the graph has 1 NaN or infinite values in x"):
        fit(x=x)


def test_predictions():
    model, data = fit()
    with torch.no_grad():
        for component in model.components_:
            component.head.bias.fill_(float("nan"))
    for predict in (model.predict, model.predict_proba, lambda data: list(model.staged_predict_proba(data))):
        with pytest.raises(ValueError, match="predictions of 12 of 12 nodes are NaN or infinite"):
            predict(data)


def test_numbers_to_learn():
    ring = torch.arange(12)
    y = torch.linspace(0, 1, 12)
    y[3] = float("inf")
    data = Data(x=torch.ones(12, 2), edge_index=torch.stack([ring, ring.roll(1)]), y=y)
    with pytest.raises(ValueError, match="y"):
        CollectiveRegressor(max_epochs=1, num_iterations=0).fit(data, ring < 8)
