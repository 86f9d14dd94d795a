"""Test accuracy of the whole graph, of batches with all neighbours, and of batches with some of them.

``python -m benchmarks.neighbors FILE`` goes on where the file ends, and prints a row for each way: the plain
GNN, the boosted one, the boost's gain, and the difference to the whole graph, means over 5 splits with
standard errors. All ways have the same epochs, or, in the row that says so, the same gradient steps.
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

SPLITS = 5
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


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--datasets", "names", default="cora,pubmed,facebook100/johns_hopkins55")
@click.option("--ways", default=",".join(list(WAYS)[:4]), help="With commas in between.")
@click.option("--epochs", default=200, help="Of the plain GNN; an iteration has a quarter.")
@click.option("--every", default=5, help="Validation looks after so many epochs.")
def main(file: Path, names: str, ways: str, epochs: int, every: int) -> None:
    """Compare the whole graph with batches; results go to a FILE."""
    done = json.loads(file.read_text()) if file.exists() else {}
    chosen = ["whole graph", *(way for way in WAYS if way in ways.split(",") and way != "whole graph")]
    for name in names.split(","):
        for number in range(SPLITS):
            for way in chosen:
                key = f"{name} {way} {number} {epochs} {every}"
                if key not in done:
                    done[key] = trial(name, way, number, epochs, every)
                    file.write_text(json.dumps(done, indent=1) + "\n")
    table = Table("dataset", "way", "plain", "boosted", "gain", "plain - whole", "boosted - whole", "seconds")
    for name in names.split(","):
        rows = {way: [done[f"{name} {way} {i} {epochs} {every}"] for i in range(SPLITS)] for way in chosen}
        for way in chosen:
            found = {kind: [row[kind] for row in rows[way]] for kind in ("plain", "boosted", "seconds")}
            gains = [b - a for a, b in zip(found["plain"], found["boosted"], strict=True)]
            less = [
                _mean(
                    [
                        row[kind] - whole[kind]
                        for row, whole in zip(rows[way], rows["whole graph"], strict=True)
                    ]
                )
                for kind in ("plain", "boosted")
            ]
            table.add_row(
                name, way, *(_mean(found[kind]) for kind in ("plain", "boosted")), _mean(gains),
                *(less if way != "whole graph" else ["", ""]), f"{statistics.mean(found['seconds']):.0f}",
            )  # fmt: skip
    Console(width=130).print(table)


def _mean(values: list[float]) -> str:
    """With its standard error."""
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values) / len(values) ** 0.5:.1f}"


if __name__ == "__main__":
    main()
