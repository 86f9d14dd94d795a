"""``python -m benchmarks.choices``: which settings are better, judged on validation nodes of tuning splits.

A tuning split is one that no result comes from (1000 and above). Its validation nodes are halved: one half
chooses the epoch and the iteration, as in any fit, the other half judges. Test nodes are not looked at. Each
trial is a line of a file, so that the same command goes on after a stop.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table
from torch import Tensor

from clgnn import CollectiveClassifier, datasets, splits
from clgnn.data.graph import Graphs, as_list, as_mask, by_graph
from clgnn.experiments.plan import read_config, trial_of
from clgnn.experiments.statistics import paired

VARIANTS: dict[str, dict[str, Any]] = {
    "base": {},
    "samples-4": {"num_samples": 4},
    "paper-start": {"start": "paper", "max_epochs": 500, "patience": 100},
    "auto-start": {"start": "auto"},
    "start-mean": {"start": ["plain", "pl_em", "gmnn"]},
    "start-pl-em": {"start": "pl_em"},
    "share-0.2": {"shown_share": 0.2},
    "share-0.8": {"shown_share": 0.8},
    "all-masks": {"inference_masks": "all"},
    "anew": {"carry_weights": False},
    "start-1000": {"max_epochs": 1000, "patience": 200, "iteration_epochs": 500, "iteration_patience": 100},
}
"""Settings by name, over those of the configuration."""


def run(
    name: str, labels: int, percent: int, gnn: str, variant: str, number: int, config: str | None
) -> dict[str, Any]:
    """One fit: what the two halves of the validation nodes say of each iteration."""
    torch.set_num_threads(1)
    data = datasets.load(name)
    split = splits.paper(name, labels, percent, number, data=data)
    halves = halved(split, data, number)
    cell = (name, labels, percent, f"{gnn}+cl")
    given = json.loads(trial_of(cell, number, read_config(config)).settings)
    model = CollectiveClassifier(**{**given, **VARIANTS[variant], "seed": number})
    shown = split.val_observed_mask if percent else None
    model.fit(data, split.train_mask, by_graph(halves[0], data), observed_mask=shown)
    y = torch.cat([graph.y for graph in as_list(data)])
    right = [_right(stage, model.classes_, y) for stage in model.staged_predict_proba(data, shown)]
    chosen, judge = ([stage[mask].double() for stage in right] for mask in halves)
    gains = [stage - chosen[0] for stage in chosen]
    return {
        "choosing": [float(stage.mean()) for stage in chosen],
        "judging": [float(stage.mean()) for stage in judge],
        "error": [float(gain.std() / np.sqrt(len(gain))) for gain in gains],
        "predicts": model.best_iteration_,
    }


def halved(split: splits.Split[Any], data: Graphs, seed: int) -> list[Tensor]:
    """The validation nodes in two halves, at random: bool ``[N]`` each."""
    nodes = as_mask(split.val_mask, data, "val_mask").nonzero().squeeze(1)
    order = torch.randperm(len(nodes), generator=torch.Generator().manual_seed(seed))
    halves = [torch.zeros(sum(len(g.y) for g in as_list(data)), dtype=torch.bool) for _ in range(2)]
    for half, mask in enumerate(halves):
        mask[nodes[order[half::2]]] = True
    return halves


def _right(stage: Tensor | list[Tensor], classes: Tensor, y: Tensor) -> Tensor:
    found = torch.cat(stage) if isinstance(stage, list) else stage
    return classes[found.argmax(dim=1)] == y


@click.command()
@click.option("--cells", default="cora:85:0:gcn,cora:85:50:gcn", help="dataset:labels:percent:gnn, ..")
@click.option("--variants", default="base,samples-4,auto-start,paper-start", help="Of those in this file.")
@click.option("--first", default=1000, help="The first split.")
@click.option("--number", default=5, help="How many splits.")
@click.option("--config", type=click.Path(exists=True), help="Settings, as for clgnn reproduce.")
@click.option("--jobs", default=2, help="Fits at a time.")
@click.option("--out", default="choices.jsonl", type=click.Path(path_type=Path), help="Where fits are kept.")
def main(
    cells: str, variants: str, first: int, number: int, config: str | None, jobs: int, out: Path
) -> None:
    """Compares settings on validation nodes of splits that no result comes from."""
    done = {}
    if out.exists():
        done = {tuple(row["key"]): row for row in map(json.loads, out.read_text().splitlines())}
    wanted = []
    for split in range(first, first + number):
        for cell in cells.split(","):
            dataset, labels, percent, gnn = cell.split(":")
            wanted += [(dataset, int(labels), int(percent), gnn, v, split) for v in variants.split(",")]
    left = [key for key in wanted if key not in done]
    parallel = Parallel(n_jobs=jobs, return_as="generator", batch_size=1, pre_dispatch=jobs)
    for key, row in zip(left, parallel(delayed(run)(*key, config) for key in left), strict=True):
        done[key] = {"key": key, **row}
        with out.open("a") as file:
            file.write(json.dumps(done[key]) + "\n")
    show([done[key] for key in wanted], variants.split(","), cells.split(","))


def show(rows: list[dict[str, Any]], variants: list[str], cells: list[str]) -> None:
    """The judging half's accuracy of each variant, and its paired difference to the first one."""
    console = Console(width=130)
    table = Table("cell", "variant", "plain", "chosen", "difference", "s.e.", "one s.e.", "last", "n")
    for cell in cells:
        here = [r for r in rows if ":".join(map(str, r["key"][:4])) == cell]
        found = {variant: [r for r in here if r["key"][4] == variant] for variant in variants}
        base = [r["judging"][r["predicts"]] for r in found[variants[0]]]
        for variant, some in found.items():
            chosen = [r["judging"][r["predicts"]] for r in some]
            careful = [r["judging"][r["predicts"] if _believed(r) else 0] for r in some]
            difference = paired(chosen, base)
            means = [[r["judging"][0] for r in some], chosen, careful, [r["judging"][-1] for r in some]]
            plain, best, wary, last = (f"{100 * np.mean(values):.2f}" for values in means)
            change = [f"{100 * difference[name]:+.2f}" for name in ("gain", "gain_se")]
            table.add_row(cell, variant, plain, best, *change, wary, last, str(len(some)))
        table.add_section()
    console.print(table)


def _believed(row: dict[str, Any]) -> bool:
    """Whether the iteration that was chosen is better than the start by a standard error."""
    t = row["predicts"]
    return row["choosing"][t] - row["choosing"][0] > row["error"][t]


if __name__ == "__main__":
    main()
