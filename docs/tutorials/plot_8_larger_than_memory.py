"""
Larger than memory
==================

Tables of any size become a folder of plain arrays, once. Every command takes that folder in place of the tables,
with the same result. The arrays are mapped from their files, so that a graph need not fit into memory.

Two tables
----------

They are small here, so that this page is quick; the commands are the same for a hundred million edges.
"""

import os
import subprocess
import tempfile
from pathlib import Path

from clgnn import datasets

folder = Path(tempfile.mkdtemp())
nodes, edges = datasets.as_tables(datasets.load("citations", num_nodes=2000, num_features=60))
nodes.to_parquet(folder / "papers.parquet", index=False)
edges.to_parquet(folder / "cites.parquet", index=False)
print(nodes.iloc[:3, :6], edges.head(3), sep="\n\n")


def run(command: str) -> None:
    """Runs a command in the folder of the tables, as you do in a terminal."""
    print("$", command)
    environment = {**os.environ, "COLUMNS": "110"}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    print(done.stdout)
    done.check_returncode()


# %%
# Prepare them
# ------------
#
# ``clgnn prepare`` goes through the tables in steps of bounded memory (``--memory``, in GiB). If it is stopped, the
# same command goes on after the last step that was finished.

run("clgnn prepare --nodes papers.parquet --edges cites.parquet --label label --out papers.clg --quiet")
for path in sorted((folder / "papers.clg").iterdir()):
    print(f"{path.stat().st_size:>9,}  {path.name}")

# %%
# Fit and predict
# ---------------
#
# ``--graph`` stands in for ``--nodes``, ``--edges`` and all that is said about columns.

run("clgnn fit --graph papers.clg --epochs 60 --iterations 1 --samples 4 --out model --quiet")
run("clgnn predict --model model --graph papers.clg --out predictions.parquet --quiet")

# %%
# In Python
# ---------
#
# ``clgnn.data.open`` opens the folder without reading it. What is asked for is read from the files when it is
# asked for.

from clgnn.data import open as open_graph

graph = open_graph(folder / "papers.clg")
print(f"{graph.num_nodes:,} nodes, {graph.num_edges:,} directed edges, {graph.x.shape[1]} features")
print(type(graph.x).__name__, "of", graph.x.filename.name)

# %%
# In batches
# ----------
#
# A step on the whole graph needs all that its labels depend on. ``--batch-size`` takes so many labels for each
# step, with all of their neighbours, so that only parts of the graph are in memory. The gradient of a batch is the
# one that the whole graph gives for these labels. In Python it is ``fit(graph, batch_size=256)``.

run(
    "clgnn fit --graph papers.clg --batch-size 256 --epochs 5 --iterations 1 --samples 4 --out batches --quiet"
)

# %%
# Several processes
# -----------------
#
# ``--processes 2`` shares the parts of each batch between two processes. The model is the same, bit for bit. On
# several machines, ``torchrun`` starts them: ``torchrun --nnodes 2 .. -m clgnn fit ..`` with the same options.

run(
    "clgnn fit --graph papers.clg --batch-size 256 --epochs 5 --iterations 1 --samples 4 --out two --processes 2 --quiet"
)
weights = [next((folder / name).glob("*.safetensors")).read_bytes() for name in ("batches", "two")]
print("the same weights:", weights[0] == weights[1])

# %%
# What it looks like
# ------------------
#
# How sure the predictions are, by the links that a paper has.

import matplotlib.pyplot as plt
import pandas as pd

predictions = pd.read_parquet(folder / "predictions.parquet")
degree = edges.melt()["value"].value_counts().reindex(nodes["id"]).fillna(0).to_numpy()
groups = [(0, 1), (2, 2), (3, 3), (4, 5), (6, 9), (10, 999)]
inside = [predictions["confidence"][(degree >= low) & (degree <= high)] for low, high in groups]
figure, axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
axes.boxplot(
    inside, tick_labels=["0-1", "2", "3", "4-5", "6-9", "10 and more"], medianprops={"color": "#e07b39"}
)
axes.set(xlabel="links of a paper", ylabel="confidence", ylim=(0, 1))
plt.show()

# %%
# More than one machine
# ---------------------
#
# Trials of an experiment are independent, so several machines can share one ledger. Each runs the same command on
# a folder that all of them see, or Ray hands the trials out:
#
# .. code-block:: text
#
#    clgnn reproduce main --jobs 8 --out /shared/results
#    clgnn reproduce main --backend ray --address auto --out /shared/results
