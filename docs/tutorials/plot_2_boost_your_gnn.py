"""
Boost your own PyG model
========================

Any module that is called as ``gnn(x, edge_index)`` and gives one row per node can be boosted: a GAT, a
GATv2, a GraphSAGE, a model of your own. You do not change it. You hand it over as a factory, since its input
gets wider: one column for each class stands next to the features.

The data
--------

1,797 handwritten digits. Those with similar left halves are linked, and the right halves are the features, so
that links and features each know a part. 200 labels are known, all in one part of the graph. (This graph was
picked to show a gain: see :doc:`Datasets </datasets>`. :doc:`Results </results>` has graphs that were not.)
"""

from clgnn import CollectiveClassifier, datasets, splits

data = datasets.load("digits")
print(data)

# %%
# A model as it is
# ----------------
#
# A GAT of PyG, in one line.

from torch_geometric.nn import GAT


def gat(in_channels: int, out_channels: int) -> GAT:
    return GAT(in_channels, 8, num_layers=2, out_channels=out_channels, heads=2, dropout=0.5)


# %%
# Plain and boosted
# -----------------
#
# ``num_iterations=0`` trains the GAT plainly, by the same loop: this is what the boost has to beat. It gets the
# epochs and the patience of all stages of the boosted one together. The boosted one has two iterations, each of
# which draws labels from the predictions of the one before it and shows them to the GAT.
#
# One split proves nothing, so there are three. ``score`` is the accuracy on nodes that neither training nor
# validation has seen.

from clgnn.estimators.settings import all_epochs

settings = {"num_iterations": 2, "num_samples": 4, "max_epochs": 200, "patience": 80, "lr": 0.02}
print("split  plain  boosted  iteration that predicts")
for seed in range(3):
    split = splits.connected(data, train_labels=200, test_nodes=500, val_nodes=300, seed=seed)
    plain = CollectiveClassifier(gat, **{**settings, "num_iterations": 0, **all_epochs(settings)}, seed=seed)
    plain.fit(data, split.train_mask, split.val_mask)
    boosted = CollectiveClassifier(gat, **settings, seed=seed)
    boosted.fit(data, split.train_mask, split.val_mask)
    scores = [model.score(data, split.test_mask) for model in (plain, boosted)]
    print(f"{seed:5}  {scores[0]:.3f}    {scores[1]:.3f}  {boosted.best_iteration_}")

# %%
# What each iteration is worth
# ----------------------------
#
# ``staged_predict_proba`` gives the predictions after each iteration, here of the last split. The dashed line is
# the plain GAT, and the dotted one marks the iteration that validation chose.

import matplotlib.pyplot as plt

stages = list(boosted.staged_predict_proba(data))
accuracy = {
    name: [float((p.argmax(1) == data.y)[mask].float().mean()) for p in stages]
    for name, mask in [("validation", split.val_mask), ("test", split.test_mask)]
}

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for (name, values), colour in zip(accuracy.items(), ["#9aa5b1", "#e07b39"], strict=True):
    axes.plot(values, marker="o", label=name, color=colour)
axes.axhline(plain.score(data, split.test_mask), linestyle="--", color="#0b6e99", label="plain GAT, test")
axes.axvline(boosted.best_iteration_, color="grey", linewidth=0.8, linestyle=":")
axes.set(xlabel="iteration", ylabel="accuracy", xticks=range(len(stages)))
axes.legend()
plt.show()

# %%
# How sure is it?
# ---------------
#
# Probabilities are calibrated on the validation labels. ``spread`` says how much a prediction varies over the
# label samples: large where a node hangs on labels that are not certain.

probability, wrong = boosted.predict_proba(data)[split.test_mask], boosted.uncertainty(data)[split.test_mask]
print("mean probability of the predicted class:", round(float(probability.max(1).values.mean()), 3))
print("mean probability of being wrong:        ", round(float(wrong.mean()), 3))

# %%
# Save it
# -------
#
# A saved model holds weights and settings, and no code. So a model of your own needs its factory again.

import tempfile

import torch

import clgnn

with tempfile.TemporaryDirectory() as folder:
    boosted.save(f"{folder}/model")
    again = clgnn.load(f"{folder}/model", gnn=gat)
print("the same bits:", torch.equal(again.predict_proba(data), boosted.predict_proba(data)))
