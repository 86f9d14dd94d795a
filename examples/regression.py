"""Numbers instead of classes: what a GNN, collective learning, residual regression and trees make of them.

python examples/regression.py              # seconds: two small graphs
python examples/regression.py --facebook   # the graduation years of Facebook100 too, ten splits: an hour
"""

import sys

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_diabetes, load_wine
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import scale
from torch_geometric.data import Data
from torch_geometric.utils import from_scipy_sparse_matrix, to_undirected

import clgnn

METHODS = ("mean", "ridge_regression", "hist_gradient_boosting", "hist_gradient_boosting_neighbors",
           "residual_regression", "gcn", "gcn+cl", "sage", "sage+cl")  # fmt: skip
SHOWN = ["rmse", "r2", "log_loss", "coverage_90"]


def linked(columns: np.ndarray, y: np.ndarray, neighbours: int = 5) -> Data:
    """A table as a graph: every other column links the rows that are alike, the rest describe them."""
    links, features = columns[:, ::2], columns[:, 1::2]
    edge_index, _ = from_scipy_sparse_matrix(kneighbors_graph(scale(links), neighbours))
    x = torch.from_numpy(scale(features)).float()
    return Data(x=x, edge_index=to_undirected(edge_index), y=torch.from_numpy(y).float())


def graphs(facebook: bool = False) -> dict[str, Data]:
    """The progression of diabetes, the alcohol of wines, and the years of graduation."""
    wine = load_wine().data
    found = {
        "diabetes": linked(*load_diabetes(return_X_y=True)),
        "wine": linked(wine[:, 1:], wine[:, 0]),
    }
    if facebook:
        found["year"] = clgnn.datasets.load("facebook100/johns_hopkins55", target="year")
    return found


def main(facebook: bool = False, num_splits: int = 10, jobs: int = 1, **settings: float) -> pd.DataFrame:
    """Prints and returns the means over the splits: one row per graph and method."""
    tables = {}
    for name, data in graphs(facebook).items():
        # a third of the labels is known, as in most graphs; they are seen when the others are predicted
        count = int(torch.isfinite(data.y).sum()) // 3
        found = clgnn.compare(
            data, METHODS, num_splits=num_splits, train_labels=count, jobs=jobs, name=name,
            settings={"lr": 0.01, **settings}, folder=f"regression/{name}" if facebook else None,
        )  # fmt: skip
        tables[name] = found.trials.groupby("method", sort=False)[SHOWN].mean()
        print(f"\n{name}: {len(data.y):,} nodes, {count:,} labels to learn from, {num_splits} splits")
        print(tables[name].to_string(float_format="{:.3f}".format))
        print(found.recommendation())
    return pd.concat(tables)


if __name__ == "__main__":
    main("--facebook" in sys.argv, jobs=2 if "--facebook" in sys.argv else 1)
