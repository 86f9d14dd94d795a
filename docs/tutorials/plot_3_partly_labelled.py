"""
A partly labelled graph
=======================

Most graphs have some labels and lack others. Which labels may the model *see* when it predicts, and which may
it *learn* from? Three settings answer this. They matter more than any other choice.

The scenario
------------

We have a citation network. Some of its labels are known when we train. More become known later, in the part
of the graph where we predict: these are ``split.observed_mask``.
"""

import matplotlib.pyplot as plt

from clgnn import CollectiveClassifier, datasets, splits

data = datasets.load("citations", num_nodes=1200, num_features=300)
split = splits.connected(data, train_labels=60, observed_labels=60, test_nodes=400, val_nodes=200)
settings = {"num_iterations": 2, "num_samples": 6, "max_epochs": 150, "patience": 40, "lr": 0.01}
accuracy = {}

# %%
# No label is seen
# ----------------
#
# ``test_labels="none"``, the default: the model learns from the training labels, and predicts without any. This
# is right for a new graph that has none. Such a model refuses an ``observed_mask``.

model = CollectiveClassifier("gcn", **settings)
model.fit(data, split.train_mask, split.val_mask)
accuracy["none is seen"] = model.score(data, split.test_mask)

try:
    model.predict(data, observed_mask=split.observed_mask)
except ValueError as error:
    print(error)

# %%
# Some labels are seen
# --------------------
#
# ``test_labels="partial"``: in training, every step hides a random half of the labels and learns them from the
# other half. So the model learns to use the labels that it is shown. ``observed_mask`` says which ones.
#
# A prediction sees only what ``observed_mask`` names, on the training graph too.

model = CollectiveClassifier("gcn", test_labels="partial", **settings)
model.fit(data, split.train_mask, split.val_mask, observed_mask=split.observed_mask)
accuracy["observed are seen"] = model.score(data, split.test_mask, observed_mask=split.observed_mask)
accuracy["the same, but nothing shown"] = model.score(data, split.test_mask)

# %%
# All known labels are learned
# ----------------------------
#
# If the observed labels are known when you train, learn from them as well: ``learn_observed=True``. A label
# is worth more as a target than as an input. For one partly labelled graph this is the setting to take, with
# all labels you have in ``train_mask`` and ``observed_mask``.

model = CollectiveClassifier("gcn", test_labels="partial", learn_observed=True, **settings)
model.fit(data, split.train_mask, split.val_mask, observed_mask=split.observed_mask)
everything = split.train_mask | split.observed_mask
accuracy["all are learned and seen"] = model.score(data, split.test_mask, observed_mask=everything)

# %%
# What each is worth
# ------------------
#
# On this graph and this split. ``clgnn compare`` does the same on many splits of your own labels.

figure, axes = plt.subplots(figsize=(7.5, 2.8), layout="constrained")
bars = axes.barh(list(accuracy), list(accuracy.values()), color=["#9aa5b1", "#0b6e99", "#cbd5df", "#e07b39"])
axes.bar_label(bars, fmt="%.3f", padding=3)
axes.invert_yaxis()
axes.set(xlabel="test accuracy", xlim=(0, 1))
plt.show()

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
