"""Test accuracy of the whole graph, of batches with all neighbours, and of batches with some of them.

``python -m benchmarks.neighbors FILE`` goes on where the file ends, and prints a row for each way: the plain
GNN, the boosted one, the boost's gain, and the difference to the whole graph, means over 5 splits with
standard errors. All ways have the same epochs, or, in the row that says so, the same gradient steps.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

SPLITS = 5
DATASETS = {"cora": 400, "pubmed": 400, "facebook100/johns_hopkins55": 200}
"""The epochs of the plain GNN, with all ways alike; an iteration has a quarter of them."""
BATCHES = 3
"""The training labels of a split make so many batches."""
WAYS: dict[str, Any] = {
    "whole graph": None,
    "all neighbours": (),
    "10 neighbours": 10,
    "5 neighbours": 5,
    "as many steps": (),
}


def trial(name: str, way: str, number: int, epochs: int, every: int) -> dict[str, float]:
    """Fits T = 2 iterations on a split; gives the test accuracies of the plain and of the boosted GNN."""
    from clgnn import CollectiveClassifier, datasets, splits

    data = datasets.load(name)
    split = splits.paper(name, trial=number, data=data)
    options: dict[str, Any] = {}
    if WAYS[way] is not None:
        options["batch_size"] = -(-int(split.train_mask.sum()) // BATCHES)
        options["num_parts"] = 1
        options["num_neighbors"] = WAYS[way] or None
    if way == "as many steps":
        epochs, every = -(-epochs // BATCHES), -(-every // BATCHES)
    model = CollectiveClassifier(
        num_iterations=2, max_epochs=epochs, patience=epochs, eval_every=every, seed=number, calibrate=False
    )
    began = time.perf_counter()
    model.fit(data, split.train_mask, split.val_mask, **options)
    seconds = time.perf_counter() - began
    plain = next(iter(model.staged_predict_proba(data)))[split.test_mask].argmax(dim=1)
    right = model.classes_[plain] == data.y[split.test_mask]
    return {
        "plain": 100 * float(right.float().mean()),
        "boosted": 100 * model.score(data, split.test_mask),
        "seconds": seconds,
    }


def trials(
    file: Path, names: Iterable[str], ways: Sequence[str], every: int = 1
) -> dict[str, dict[str, list[dict[str, float]]]]:
    """What each way gives on each split of each dataset; trials that are in the file are not run again."""
    done = json.loads(file.read_text()) if file.exists() else {}
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    for name in names:
        found[name] = {way: [] for way in ways}
        for number, way in product(range(SPLITS), ways):
            key = f"{name} {way} {number} {DATASETS[name]} {every}"
            if key not in done:
                done[key] = trial(name, way, number, DATASETS[name], every)
                file.write_text(json.dumps(done, indent=1) + "\n")
            found[name][way].append(done[key])
    return found


def differences(rows: dict[str, list[dict[str, float]]], way: str, kind: str = "boosted") -> list[float]:
    """Of the accuracies of a way to those of the whole graph, split by split."""
    return [one[kind] - whole[kind] for one, whole in zip(rows[way], rows["whole graph"], strict=True)]


def error(values: list[float]) -> float:
    """The standard error of their mean."""
    return statistics.stdev(values) / len(values) ** 0.5


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--datasets", "names", default=",".join(DATASETS), help="With commas in between.")
@click.option("--ways", default="all neighbours,10 neighbours,5 neighbours", help="With commas in between.")
@click.option("--every", default=1, help="Validation looks after so many epochs.")
def main(file: Path, names: str, ways: str, every: int) -> None:
    """Compare the whole graph with batches; results go to a FILE."""
    found = trials(file, names.split(","), ["whole graph", *ways.split(",")], every)
    table = Table("dataset", "way", "plain", "boosted", "gain", "plain - whole", "boosted - whole", "seconds")
    for name, rows in found.items():
        for way, row in rows.items():
            kinds = {kind: [one[kind] for one in row] for kind in ("plain", "boosted", "seconds")}
            gains = [b - a for a, b in zip(kinds["plain"], kinds["boosted"], strict=True)]
            less = ["", ""]
            if way != "whole graph":
                less = [_mean(differences(rows, way, kind)) for kind in ("plain", "boosted")]
            shown = [_mean(values) for values in (kinds["plain"], kinds["boosted"], gains)]
            table.add_row(name, way, *shown, *less, f"{statistics.mean(kinds['seconds']):.0f}")
    Console(width=130).print(table)


def _mean(values: list[float]) -> str:
    return f"{statistics.mean(values):.1f} ± {error(values):.1f}"


if __name__ == "__main__":
    main()
