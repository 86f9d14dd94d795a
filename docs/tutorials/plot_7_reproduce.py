"""
Reproduce the paper, and add a row of your own
==============================================

``clgnn reproduce main`` runs the paper's main table. It writes every trial to a ledger as it ends, so that the
same command goes on after a stop. Here we do the same in small and in Python: a table of plain and boosted GNNs
with a row that is ours.

The whole table
---------------

.. code-block:: text

   clgnn reproduce main --jobs 2 --out results/
   clgnn report results/ --out report.html

This takes hours, and needs the files of the datasets (``clgnn datasets get cora``). ``--quick`` runs a few epochs
of everything, ``--datasets`` and ``--methods`` a part of it:

.. code-block:: text

   clgnn reproduce main --datasets cora --methods gcn,gcn+cl,ica --trials 2 --quick --out quick/

The settings are rules, which you can print, edit and hand back:
"""

import subprocess

printed = subprocess.run(
    "clgnn reproduce --print-config", shell=True, capture_output=True, text=True, check=True
)
print("\n".join(printed.stdout.splitlines()[:16]))

# %%
# A method of your own
# --------------------
#
# Any estimator can stand beside the others: one of ours with other settings, or a classifier of scikit-learn.
# The row below is ours: a random forest on each node's own columns, and collective learning that *starts* from
# it.

from sklearn.ensemble import RandomForestClassifier

from clgnn import CollectiveClassifier, compare, datasets

data = datasets.load("citations", num_nodes=800, num_features=300)
data.x = data.x.to_dense()
forest = RandomForestClassifier(100, random_state=0)
budget = {"max_epochs": 150, "patience": 50, "num_iterations": 2, "num_samples": 4}
found = compare(
    data,
    {
        "gcn": None,
        "gcn+cl": None,
        "label_propagation": None,
        "forest": forest,
        "forest+cl": CollectiveClassifier("gcn", start=forest, test_labels="partial", **budget),
    },
    num_splits=4,
    train_labels=60,
    settings=budget,
)
print(found.recommendation())
found.leaderboard[["method", "mean", "low", "high", "seconds"]]

# %%
# The table as a picture
# ----------------------
#
# Every split is a line: what counts is the difference on the same split, and not the mean alone.

import matplotlib.pyplot as plt

trials = found.trials.pivot(index="trial", columns="method", values="accuracy")
names = found.leaderboard["method"].tolist()
figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
axes.plot(trials[names].T, color="#cbd5df", marker="o", markersize=4)
axes.plot(trials[names].mean(), color="#e07b39", marker="D", linewidth=0, label="mean of 4 splits")
axes.set(ylabel="test accuracy")
axes.legend()
plt.show()

# %%
# In the paper's own table
# ------------------------
#
# To have a new method as a row of ``clgnn reproduce``, write it as a rival: a class with ``_fit`` and
# ``_distribution``, as :doc:`Architecture </architecture>` describes. Labels, validation, metrics, saving and the
# command line then come for free.
