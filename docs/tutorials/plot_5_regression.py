"""
Numbers instead of classes
==========================

``CollectiveRegressor`` predicts a number for each node, and how sure it is. Everything else is as with classes:
labels are drawn from the predictions (from a Gaussian now), shown to the GNN as one more column, and averaged.

The data
--------

442 patients of scikit-learn's diabetes table. Half of the columns describe a patient, and patients who are alike
in the other half are linked. The label is how far the disease has come after a year; it is known for a third.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_diabetes
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import scale
from torch_geometric.data import Data
from torch_geometric.utils import from_scipy_sparse_matrix, to_undirected

from clgnn import CollectiveRegressor, compare

columns, progression = load_diabetes(return_X_y=True)
links, _ = from_scipy_sparse_matrix(kneighbors_graph(scale(columns[:, ::2]), 5))
data = Data(
    x=torch.from_numpy(scale(columns[:, 1::2])).float(),
    edge_index=to_undirected(links),
    y=torch.from_numpy(progression).float(),  # NaN where unknown
)
order = torch.randperm(442, generator=torch.Generator().manual_seed(0))
train, val, test = order[:150], order[150:240], order[240:]  # masks may be node indices

# %%
# Fit and predict
# ---------------
#
# ``predict`` gives means, ``predict_proba`` means and standard deviations, ``[N, 2]``. ``score`` is R², as in
# scikit-learn: 1 is perfect, and 0 is what the mean of all labels has.

settings = {"max_epochs": 300, "patience": 80, "num_iterations": 2, "num_samples": 6}
model = CollectiveRegressor("gcn", test_labels="partial", **settings)
model.fit(data, train, val)
print("R²:", round(model.score(data, test, observed_mask=train), 3))
print({name: round(value, 3) for name, value in model.evaluate(data, test, observed_mask=train).items()})

# %%
# How sure it is
# --------------
#
# Nine in ten of the true values should lie within 1.64 standard deviations of the predicted mean: this is
# ``coverage_90`` above.

mean, deviation = model.predict_proba(data, observed_mask=train)[test].T
rank = mean.argsort()
inside = ((data.y[test] - mean).abs() < 1.64 * deviation)[rank]

figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
place = torch.arange(len(test))
low, high = (mean - 1.64 * deviation)[rank], (mean + 1.64 * deviation)[rank]
axes.fill_between(place, low, high, alpha=0.2, color="#0b6e99", label="90 % interval")
axes.plot(place, mean[rank], color="#0b6e99", label="predicted")
for part, colour, name in [(inside, "#0b6e99", "true, inside"), (~inside, "#e07b39", "true, outside")]:
    axes.scatter(place[part], data.y[test][rank][part], s=10, color=colour, label=name)
axes.set(xlabel="patients, by prediction", ylabel="progression")
axes.legend(ncols=4)
plt.show()

# %%
# Is the graph worth it?
# ----------------------
#
# Ridge regression, trees and the plain GNN have the same splits. Look at the intervals before you believe a
# difference. On a table such as this one, where links are made of columns, do not expect much from the graph.

methods = ["mean", "ridge_regression", "hist_gradient_boosting", "residual_regression", "gcn", "gcn+cl"]
found = compare(data, methods, num_splits=3, train_labels=150, settings=settings)
print(found.recommendation())
found.leaderboard[["method", "mean", "low", "high"]]
