"""Every rival beside the plain and the boosted GCN, on Cora's reference splits.

python examples/rivals.py --scenario none      # split 0: 140 training labels, no test labels
python examples/rivals.py --scenario partial   # split 2: 140 training labels, 140 observed test labels
"""

from __future__ import annotations

import argparse

import numpy as np

from clgnn import CollectiveClassifier, baselines, datasets, splits

NAMES = ["gnn", "cl", *baselines.METHODS]


def make(name: str, test_labels: str, seed: int) -> CollectiveClassifier | baselines.Rival:
    if name in ("gnn", "cl"):
        iterations = {"gnn": 0, "cl": 3}[name]
        return CollectiveClassifier(num_iterations=iterations, test_labels=test_labels, seed=seed)
    return baselines.make(name, test_labels=test_labels, seed=seed)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenario", choices=["none", "partial"], default="none")
    parser.add_argument("--labels", type=int, default=140, help="training labels, and as many observed ones")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--methods", nargs="+", choices=NAMES, default=NAMES)
    options = parser.parse_args()
    partial = options.scenario == "partial"
    data = datasets.load("cora")
    if partial:
        split = splits.reference("cora", 2, train_labels=options.labels, observed_labels=options.labels)
    else:
        split = splits.reference("cora", 0, train_labels=options.labels)
    observed = split.observed_mask if partial else None
    print("| method | test accuracy, mean | standard deviation | validation, mean |")
    print("|---|---:|---:|---:|", flush=True)
    for name in options.methods:
        test, val = [], []
        for seed in range(options.seeds):
            model = make(name, options.scenario, seed)
            model.fit(data, split.train_mask, split.val_mask, observed_mask=observed)
            test.append(100 * model.score(data, split.test_mask, observed))
            val.append(100 * model.score(data, split.val_mask, observed))
        print(f"| `{name}` | {np.mean(test):.2f} | {np.std(test):.2f} | {np.mean(val):.2f} |", flush=True)


if __name__ == "__main__":
    main()
