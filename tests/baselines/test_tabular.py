"""Classifiers on columns are scikit-learn's own, and are saved without code."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from torch_geometric.data import Data

from clgnn import baselines
from clgnn.baselines import tabular
from clgnn.baselines.tabular import added, as_arrays, columns, totals
from clgnn.data.graph import as_graph


@pytest.mark.parametrize("classes", [2, 3])
def test_trees_are_those_of_scikit_learn(classes, new_graph):
    graph = new_graph(num_nodes=120, num_classes=classes)
    model = baselines.GradientBoosting(max_trees=20).fit(graph, range(80))
    x, y = graph.x.double().numpy(), graph.y.numpy()
    theirs = HistGradientBoostingClassifier(
        max_iter=20, early_stopping=False, min_samples_leaf=8, random_state=0
    )
    expected = theirs.fit(x[:80], y[:80]).predict_proba(x)
    assert np.allclose(model.predict_proba(graph).numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_is_that_of_scikit_learn(classes, new_graph):
    graph = new_graph(num_nodes=60, num_classes=classes)
    model = baselines.Logistic(C=1.0).fit(graph, range(40))
    x, y = graph.x.numpy(), graph.y.numpy()
    expected = LogisticRegression(max_iter=300).fit(x[:40], y[:40]).predict_proba(x)
    assert np.allclose(model.predict_proba(graph).numpy(), expected, atol=1e-4)


@pytest.mark.parametrize("sparse", [False, True])
def test_trees_go_through_the_rows_in_blocks(sparse, new_graph, monkeypatch):
    x = new_graph(num_nodes=50).x.double().numpy()
    y = np.arange(50) % 3
    model = HistGradientBoostingClassifier(max_iter=7, min_samples_leaf=2).fit(x, y)
    trees, values = as_arrays(model)
    parts = added(trees, values, x)
    monkeypatch.setattr(tabular, "_BLOCK", 7 * 3 * 4)  # four rows at a time
    found = totals(trees, values, sp.csr_array(x) if sparse else x, [7, 3, 1])
    assert list(found) == [7, 3, 1]
    for rounds, scores in found.items():
        assert np.array_equal(scores, parts[:rounds].sum(axis=0))


def test_validation_chooses_the_number_of_trees(new_graph):
    graph = new_graph(num_nodes=120)
    model = baselines.GradientBoosting(max_trees=20, metric="log_loss").fit(graph, range(60), range(60, 90))
    assert len(model.trees_) == int(model.history_.loc[model.history_["val_log_loss"].idxmin(), "trees"])


def test_neighbours_columns_are_means_of_weighted_neighbours():
    data = Data(
        x=torch.tensor([[1.0], [3.0], [5.0]]),
        edge_index=torch.tensor([[0, 2, 1], [1, 1, 0]]),
        edge_weight=torch.tensor([1.0, 3.0, 1.0]),
    )
    expected = [[1.0, 3.0], [3.0, 4.0], [5.0, 0.0]]
    assert columns(as_graph(data), neighbors=True).tolist() == expected
    data.x = data.x.to_sparse_csr()
    assert columns(as_graph(data), neighbors=True).tolist() == expected  # dense enough to be dense


def test_edges_are_not_looked_at_without_neighbours(new_graph):
    graph = new_graph()
    for name in ("logistic_regression", "hist_gradient_boosting"):
        model = baselines.make(name).fit(graph, range(10))
        alone = graph.clone()
        alone.edge_index = alone.edge_index[:, :0]
        assert torch.equal(model.predict_proba(alone), model.predict_proba(graph))
