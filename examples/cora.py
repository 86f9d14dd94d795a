"""The paper's Cora experiment: GCN, plain and boosted, on its reference split with 87 training labels.

    python examples/cora.py --seeds 5

It needs the files of Cora. They are taken from $CLGNN_DATA if they are there; otherwise they are downloaded.
"""

import argparse

import numpy as np

from clgnn import CollectiveClassifier, datasets, splits
from clgnn.estimators.settings import PRESETS, all_epochs

BOOSTED = {"num_iterations": 3, "max_epochs": 2000, "patience": 400}


def main(seeds: int) -> np.ndarray:
    """Prints one line per seed and the mean; returns the test accuracies in %, ``[seeds, contenders]``."""
    data = datasets.load("cora")
    split = splits.reference("cora", trial=0, train_labels=87)
    contenders = {
        "plain": {"num_iterations": 0, **all_epochs(BOOSTED)},
        "boosted": BOOSTED,
        "boosted, auto": {**BOOSTED, "start": "auto"},
        "paper's preset": PRESETS["paper"],
        "soft labels": {**BOOSTED, "labels": "soft"},
        "uniform labels": {**BOOSTED, "labels": "uniform"},
    }
    print(f"{'seed':>4}  " + "  ".join(f"{name:>18}" for name in contenders))
    rows = []
    for seed in range(seeds):
        models = [CollectiveClassifier("gcn", num_samples=10, seed=seed, **c) for c in contenders.values()]
        scores = [m.fit(data, split.train_mask, split.val_mask).score(data, split.test_mask) for m in models]
        rows.append([100 * score for score in scores])
        print(f"{seed:>4}  " + "  ".join(f"{value:18.2f}" for value in rows[-1]), flush=True)
    accuracies = np.array(rows)
    print("mean  " + "  ".join(f"{value:18.2f}" for value in accuracies.mean(axis=0)))
    gains = accuracies - accuracies[:, :1]
    print("gain  " + "  ".join(f"{value:+18.2f}" for value in gains.mean(axis=0)))
    return accuracies


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds to run, from 0 on")
    main(parser.parse_args().seeds)
