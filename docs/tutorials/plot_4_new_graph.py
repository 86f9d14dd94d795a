"""
A graph that was not there in training
======================================

A model that knows nodes by their numbers is of no use on another graph. Collective learning knows them by
features and links alone, so it predicts any graph with the same columns. If some labels of the new graph are
known, it can see them. If you may train on it, it can adapt.

Last year's graph, and this year's
----------------------------------

Two citation networks with the same words and topics, and other papers. We have labels for the first one, and
for forty papers of the second.
"""

import matplotlib.pyplot as plt
import torch
from torch_geometric.utils import subgraph

from clgnn import CollectiveClassifier, datasets, splits

both = datasets.load("citations", num_nodes=1600, num_features=300, topicality=0.2)
both.x = both.x.to_dense()
first = torch.randperm(1600, generator=torch.Generator().manual_seed(0)) < 800


def part(nodes: torch.Tensor):
    """The graph of these nodes alone: links to others are gone."""
    edge_index, _ = subgraph(nodes, both.edge_index, relabel_nodes=True, num_nodes=1600)
    return type(both)(x=both.x[nodes], edge_index=edge_index, y=both.y[nodes])


old, new = part(first), part(~first)
split = splits.random(old, train_labels=120, test_nodes=100, val_nodes=200)
known = torch.zeros(800, dtype=torch.bool)
known[torch.randperm(800, generator=torch.Generator().manual_seed(1))[:40]] = True
print(old, new, sep="\n")

# %%
# Fit on the old graph
# --------------------
#
# The plain GCN has the epochs of all stages of the boosted one together.

from clgnn.estimators.settings import all_epochs

settings = {"num_iterations": 2, "num_samples": 6, "max_epochs": 400, "patience": 150, "lr": 0.05}
plain = {**settings, "num_iterations": 0, **all_epochs(settings)}
accuracy = {}
for name, chosen in [("plain GCN", plain), ("boosted", settings)]:
    model = CollectiveClassifier("gcn", test_labels="partial", **chosen)
    model.fit(old, split.train_mask, split.val_mask)
    accuracy[f"{name}, no label of it seen"] = model.score(new, ~known)

# %%
# Predict the new one
# -------------------
#
# The boosted model may see the forty labels of the new graph. Nothing is trained here: the iterations are
# replayed with the weights that were learned.

accuracy["boosted, 40 labels seen"] = model.score(new, ~known, observed_mask=known)

# %%
# Adapt to it
# -----------
#
# ``adapt`` goes on training from the learned weights, with the new labels as targets. It changes the model:
# save it first if you need the old one.

model.adapt(new, observed_mask=known)
accuracy["boosted, adapted to 40 labels"] = model.score(new, ~known, observed_mask=known)

figure, axes = plt.subplots(figsize=(7.5, 2.8), layout="constrained")
bars = axes.barh(list(accuracy), list(accuracy.values()), color=["#9aa5b1", "#cbd5df", "#0b6e99", "#e07b39"])
axes.bar_label(bars, fmt="%.3f", padding=3)
axes.invert_yaxis()
axes.set(xlabel="accuracy on 760 nodes of the new graph", xlim=(0, 1))
plt.show()
print(accuracy)

# %%
# Several graphs at once
# ----------------------
#
# Training takes a list as well, with one mask for each graph. Predictions are then a list.

graphs = [old, new]
model = CollectiveClassifier("gcn", num_iterations=1, num_samples=4, max_epochs=60)
model.fit(graphs, [split.train_mask, known], [split.val_mask, torch.zeros_like(known)])
print([tuple(p.shape) for p in model.predict_proba(graphs)])
