"""
A partly labelled graph
=======================

Most graphs have some labels and lack others. Which labels may the model *see* when it predicts, and which may
it *learn* from? Three settings answer this. They matter more than any other choice.

The scenario
------------

We have a citation network. Some of its labels are known when we train. More become known later, in another part
of the graph: these are ``split.observed_mask``. One split says little, so there are four.
"""

import matplotlib.pyplot as plt
import pandas as pd

from clgnn import CollectiveClassifier, datasets, splits

data = datasets.load("citations", num_nodes=1200, num_features=300)
parts = [
    splits.connected(data, train_labels=60, observed_labels=60, test_nodes=400, val_nodes=200, seed=seed)
    for seed in range(4)
]
settings = {"num_iterations": 2, "num_samples": 6, "max_epochs": 400, "patience": 150, "lr": 0.05}
accuracy = pd.DataFrame(index=range(4))

# %%
# No label is seen
# ----------------
#
# ``test_labels="none"``, the default: the model learns from the training labels, and predicts without any. This
# is right for a new graph that has none.

for seed, split in enumerate(parts):
    model = CollectiveClassifier("gcn", seed=seed, **settings)
    model.fit(data, split.train_mask, split.val_mask)
    accuracy.loc[seed, "none is seen"] = model.score(data, split.test_mask)

# %%
# Such a model refuses labels: it has not learned what to do with them.

try:
    model.predict(data, observed_mask=split.observed_mask)
except ValueError as error:
    print(error)

# %%
# Some labels are seen
# --------------------
#
# ``test_labels="partial"``: in training, every step hides a random half of the labels and learns them from the
# other half. So the model learns to use the labels that it is shown. ``observed_mask`` says which ones. A
# prediction sees only what ``observed_mask`` names, on the training graph too.

for seed, split in enumerate(parts):
    model = CollectiveClassifier("gcn", test_labels="partial", seed=seed, **settings)
    model.fit(data, split.train_mask, split.val_mask, observed_mask=split.observed_mask)
    seen = model.score(data, split.test_mask, observed_mask=split.observed_mask)
    accuracy.loc[seed, "observed are seen"] = seen

# %%
# All known labels are learned
# ----------------------------
#
# If the observed labels are known when you train, learn from them as well: ``learn_observed=True``. A label
# is worth more as a target than as an input. For one partly labelled graph this is the setting to take.

for seed, split in enumerate(parts):
    model = CollectiveClassifier("gcn", test_labels="partial", learn_observed=True, seed=seed, **settings)
    model.fit(data, split.train_mask, split.val_mask, observed_mask=split.observed_mask)
    everything = split.train_mask | split.observed_mask
    learned = model.score(data, split.test_mask, observed_mask=everything)
    accuracy.loc[seed, "all are learned and seen"] = learned

# %%
# What each is worth
# ------------------
#
# A line is a split, and a diamond is the mean. Four splits of one synthetic graph: the last step is the
# large one. ``clgnn compare`` does the same with your own labels.

figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
axes.plot(accuracy.T, color="#cbd5df", marker="o", markersize=4)
axes.plot(accuracy.mean(), color="#e07b39", marker="D", linewidth=0, label="mean of 4 splits")
axes.set(ylabel="test accuracy")
axes.legend()
plt.show()
accuracy.round(3)

# %%
# On the command line
# -------------------
#
# .. code-block:: text
#
#    clgnn fit --test-labels partial --learn-observed --split part ...
#
# where the column ``part`` says ``train``, ``observed``, ``val`` or ``test``. Without ``--split``, all rows with
# a label are known.
#
# **No leak.** Everything outside of the masks is removed before anything looks at the graph. Change a hidden
# label, and not one bit of a prediction changes:

changed = data.clone()
hidden = ~(split.train_mask | split.val_mask | split.observed_mask)
changed.y[hidden] = (changed.y[hidden] + 1) % 5
before = model.predict_proba(data, observed_mask=everything)
print("unchanged:", bool((before == model.predict_proba(changed, observed_mask=everything)).all()))
