"""A public model of PyG, boosted in three lines: GATv2 with batch normalisation, on Cora with 85 labels.

    python examples/boost_pyg.py --splits 3

The plain model has the epochs and the patience of all stages of the boosted one. It needs the files of Cora.
They are taken from $CLGNN_DATA if they are there; otherwise they are downloaded.
"""

import argparse
from typing import Any

import numpy as np
from torch_geometric.nn import GAT

from clgnn import CollectiveClassifier, datasets, splits
from clgnn.estimators.settings import all_epochs

BUDGET: dict[str, Any] = {"num_iterations": 3, "num_samples": 10, "max_epochs": 1000, "patience": 200}


def gatv2(in_channels: int, out_channels: int) -> GAT:
    return GAT(in_channels, 16, 2, out_channels, dropout=0.5, norm="batch_norm", v2=True, heads=2)


def main(num_splits: int = 3, **changes: Any) -> np.ndarray:
    """Prints one line per split and the mean; returns the test accuracies in %, ``[splits, 2]``."""
    data, budget = datasets.load("cora"), {**BUDGET, **changes}
    print(f"{'split':>5}  {'plain':>7}  {'boosted':>7}  {'gain':>6}")
    rows = []
    for trial in range(num_splits):
        split = splits.paper("cora", 85, 0, trial=trial)
        settings = [{**budget, "num_iterations": 0, **all_epochs(budget)}, budget]
        models = [CollectiveClassifier(gatv2, seed=trial, **each) for each in settings]
        scores = [m.fit(data, split.train_mask, split.val_mask).score(data, split.test_mask) for m in models]
        plain, boosted = (100 * score for score in scores)
        print(f"{trial:>5}  {plain:7.2f}  {boosted:7.2f}  {boosted - plain:+6.2f}", flush=True)
        rows.append([plain, boosted])
    accuracies = np.array(rows)
    plain, boosted = accuracies.mean(axis=0)
    print(f" mean  {plain:7.2f}  {boosted:7.2f}  {boosted - plain:+6.2f}")
    return accuracies


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", type=int, default=3, help="how many splits to run, from 0 on")
    main(parser.parse_args().splits)
