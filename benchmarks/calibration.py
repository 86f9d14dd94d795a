"""Probabilities as they are, with a temperature, and with a temperature and a share of doubt.

    python -m benchmarks.calibration --config docs/results/fair.toml --cells cora:85:0:gcn,cora:85:50:gcn

As for ``benchmarks.choices``, on tuning splits: one half of the validation nodes chooses, the other judges.
It prints the calibration error and the log loss of each, in the mean over the splits.
"""

from __future__ import annotations

import json

import click
import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks.choices import halved
from clgnn import CollectiveClassifier, datasets, splits
from clgnn.data.graph import as_list, by_graph
from clgnn.estimators.calibration import AS_IT_IS
from clgnn.estimators.labelling import Classes
from clgnn.estimators.metrics import as_array, calibration_error
from clgnn.experiments.plan import read_config, trial_of

WAYS = ("as they are", "temperature", "temperature and doubt")


def run(name: str, labels: int, percent: int, gnn: str, number: int, config: str | None) -> list[list[float]]:
    """One fit: the calibration error and the log loss of each way, on the judging half."""
    data = datasets.load(name)
    split = splits.paper(name, labels, percent, number, data=data)
    choosing, judging = halved(split, data, number)
    settings = json.loads(
        trial_of((name, labels, percent, f"{gnn}+cl"), number, read_config(config)).settings
    )
    model = CollectiveClassifier(**{**settings, "seed": number})
    shown = split.val_observed_mask if percent else None
    model.fit(data, split.train_mask, by_graph(choosing, data), observed_mask=shown)
    both = model.calibration_
    model.temperature_, model.doubt_ = AS_IT_IS
    found = model.predict_proba(data, shown)
    outputs = (torch.cat(found) if isinstance(found, list) else found).double().clamp(min=1e-300).log()
    y = torch.searchsorted(model.classes_, torch.cat([graph.y for graph in as_list(data)]))
    classes = Classes(tuple(model.classes_.tolist()))
    temperature = classes.calibration(outputs[choosing], y[choosing], doubts=(0.0,))
    scores = []
    for way in (AS_IT_IS, temperature, both):
        said = classes.decode(outputs[judging], way)
        error = calibration_error(as_array(y[judging]), as_array(said))
        scores.append([error, classes.log_loss(said, y[judging])])
    return scores


@click.command()
@click.option("--cells", default="cora:85:0:gcn,cora:85:50:gcn", help="dataset:labels:percent:gnn, ..")
@click.option("--first", default=1000, help="The first split.")
@click.option("--number", default=5, help="How many splits.")
@click.option("--config", type=click.Path(exists=True), help="Settings, as for clgnn reproduce.")
def main(cells: str, first: int, number: int, config: str | None) -> None:
    """Compares calibrations on validation nodes of splits that no result comes from."""
    torch.set_num_threads(1)
    table = Table("cell", "probabilities", "calibration error", "log loss", "n")
    for cell in cells.split(","):
        name, labels, percent, gnn = cell.split(":")
        rows = [run(name, int(labels), int(percent), gnn, n, config) for n in range(first, first + number)]
        for way, (error, loss) in zip(WAYS, np.mean(rows, axis=0), strict=True):
            table.add_row(cell, way, f"{error:.3f}", f"{loss:.3f}", str(number))
        table.add_section()
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
