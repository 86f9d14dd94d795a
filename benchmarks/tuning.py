"""What tuning gains over the defaults, on splits that no result comes from.

python -m benchmarks.tuning --out tuning.jsonl [--trials 15] [--splits 2] [--datasets cora,pubmed,facebook100]

For each dataset and split the plain and the boosted GNN are fitted with their defaults and with what
`clgnn.tune` finds on the validation labels, the same number of trials for both. The test labels of these
splits judge. Each line of the file is one search; the same command goes on after a stop, and prints the
table at the end.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd
import torch

import clgnn
from clgnn.data import datasets, splits
from clgnn.data.datasets import FACEBOOK100
from clgnn.estimators.settings import as_plain
from clgnn.experiments.plan import TUNING_SPLITS

LABELS = {"cora": 85, "pubmed": 300, FACEBOOK100: 80}
BUDGET = {"max_epochs": 400, "patience": 100, "eval_every": 2}


def main() -> None:
    """Runs what is not there yet, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--splits", type=int, default=len(TUNING_SPLITS))
    parser.add_argument("--datasets", default="cora,pubmed,facebook100")
    given = parser.parse_args()
    done = {(r["dataset"], r["split"], r["boosted"]) for r in _rows(given.out)}
    torch.set_num_threads(1)
    for number in range(given.splits):
        for name in given.datasets.split(","):
            dataset = FACEBOOK100 if name == "facebook100" else name
            for boosted in (False, True):
                cell = (dataset, TUNING_SPLITS[0] + number, boosted)
                if cell not in done:
                    row = measure(*cell, given.trials)
                    with given.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
                    print(json.dumps(row), flush=True)
    print(table(_rows(given.out)).to_string())


def measure(dataset: str, number: int, boosted: bool, trials: int) -> dict[str, Any]:
    """The test accuracies of the defaults and of what tuning found, on one split."""
    data = datasets.load(dataset)
    split = splits.paper(dataset, LABELS[dataset], 0, number, data=data)
    found = clgnn.tune(
        data, split.train_mask, split.val_mask, num_trials=trials, boosted=boosted,
        settings={**BUDGET, "test_labels": "none"}, seed=number,
    )  # fmt: skip
    defaults: dict[str, Any] = {**BUDGET, "test_labels": "none"}
    if not boosted:
        defaults = as_plain(defaults)
    scores = {}
    for which, settings in (("defaults", defaults), ("tuned", dict(found.settings))):
        model = clgnn.CollectiveClassifier(**{**settings, "seed": number})
        model.fit(data, split.train_mask, split.val_mask)
        scores[which] = model.score(data, split.test_mask)
    return {
        "dataset": dataset, "split": number, "boosted": boosted, "trials": trials, **scores,
        "settings": found.settings,
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Means over the splits, in percent."""
    scores = pd.DataFrame(rows).assign(gain=lambda t: t["tuned"] - t["defaults"])
    means = scores.groupby(["dataset", "boosted"])[["defaults", "tuned", "gain"]].mean() * 100
    return means.assign(splits=scores.groupby(["dataset", "boosted"]).size()).round(1)


def _rows(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main()
