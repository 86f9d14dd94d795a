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

from benchmarks.both_masks import BothMasks
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
    "share-0.95": {"shown_share": 0.95},
    "pairs": {},
    "both-masks": {},
    "all-masks": {"inference_masks": "all"},
    "masks-10": {"num_masks": 10},
    "iid": {"sampling": "iid"},
    "anew": {"carry_weights": False},
    "iterations-10": {"num_iterations": 10, "iteration_epochs": 100, "iteration_patience": 100},
    "start-500": {"max_epochs": 500, "patience": 100, "iteration_epochs": 500, "iteration_patience": 100},
    "start-1000": {"max_epochs": 1000, "patience": 200, "iteration_epochs": 500, "iteration_patience": 100},
}
"""Settings by name, over those of the configuration.

``pairs`` draws the mask of a step from ten masks and their complements, ``both-masks`` has a mask and its
complement in every step.
"""


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
    kind = BothMasks if variant == "both-masks" else CollectiveClassifier
    model = kind(**{**given, **VARIANTS[variant], "seed": number})
    shown = split.val_observed_mask if percent else None
    masks = pairs(as_mask(split.train_mask, data, "train_mask"), number) if variant == "pairs" else None
    model.fit(data, split.train_mask, by_graph(halves[0], data), observed_mask=shown, masks=masks)
    y = torch.cat([graph.y for graph in as_list(data)])
    stages = [_joined(stage) for stage in model.staged_predict_proba(data, shown)]
    right = [_right(stage, model.classes_, y) for stage in stages]
    mixed = [_right(stage + stages[0], model.classes_, y) for stage in stages]
    weights = [_weights(y[mask], model.metric == "balanced_accuracy") for mask in halves]
    pairs_of = list(zip(halves, weights, strict=True))
    chosen, judge = ([stage[mask] * weight for stage in right] for mask, weight in pairs_of)
    gains = [stage - chosen[0] for stage in chosen]
    return {
        "choosing": [float(stage.mean()) for stage in chosen],
        "judging": [float(stage.mean()) for stage in judge],
        "error": [float(gain.std() / np.sqrt(len(gain))) for gain in gains],
        "mixed": [[float((stage[mask] * weight).mean()) for stage in mixed] for mask, weight in pairs_of],
        "predicts": model.best_iteration_,
        "starts": [type(one).__name__ for one in model.starts_] + ["GNN"] * model.starts_with_plain_,
    }


def halved(split: splits.Split[Any], data: Graphs, seed: int) -> list[Tensor]:
    """The validation nodes in two halves, at random: bool ``[N]`` each."""
    nodes = as_mask(split.val_mask, data, "val_mask").nonzero().squeeze(1)
    order = torch.randperm(len(nodes), generator=torch.Generator().manual_seed(seed))
    halves = [torch.zeros(sum(len(g.y) for g in as_list(data)), dtype=torch.bool) for _ in range(2)]
    for half, mask in enumerate(halves):
        mask[nodes[order[half::2]]] = True
    return halves


def pairs(train: Tensor, seed: int, number: int = 10) -> Tensor:
    """Masks ``[2 number, N]`` that show a random half of the labels, each with its complement."""
    halves = torch.rand(number, len(train), generator=torch.Generator().manual_seed(seed)) < 0.5
    return torch.cat([halves, ~halves]) & train


def _joined(stage: Tensor | list[Tensor]) -> Tensor:
    return torch.cat(stage) if isinstance(stage, list) else stage


def _right(probabilities: Tensor, classes: Tensor, y: Tensor) -> Tensor:
    return classes[probabilities.argmax(dim=1)] == y


def _weights(y: Tensor, balanced: bool) -> Tensor:
    """What each node counts: 1; or so much that the mean over the nodes is the balanced accuracy."""
    if not balanced:
        return torch.ones(len(y), dtype=torch.float64)
    _, place, counts = y.unique(return_inverse=True, return_counts=True)
    return len(y) / (len(counts) * counts.double())[place]


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
    """The judging half's accuracy of each variant, and its paired difference to the first one.

    Beside them, other rules of what predicts, for the first variant: the last iteration; the best one only if
    it is better than the start by a standard error; and, where fits have it, the best of all iterations and
    of their means with the start.
    """
    table = Table("cell", "variant", "start", "predicts", "difference", "s.e.", "n")
    first, by_cell = variants[0], {}
    rules = {name: (name, _best) for name in variants}
    rules |= {f"{first}, one s.e.": (first, _believed), f"{first}, last": (first, _last)}
    if all("mixed" in row for row in rows):
        rules[f"{first}, with the start"] = (first, _with_the_start)
    for cell in cells:
        here = [r for r in rows if ":".join(map(str, r["key"][:4])) == cell]
        base = [r["judging"][_best(r)] for r in here if r["key"][4] == first]
        for name, (variant, rule) in rules.items():
            some = [r for r in here if r["key"][4] == variant]
            found, start = [_judged(r, rule(r)) for r in some], [r["judging"][0] for r in some]
            by_cell[cell, name] = paired(found, base)
            table.add_row(
                cell, name, *map(_percent, (start, found)), *_told(by_cell[cell, name]), str(len(some))
            )
        table.add_section()
    for name in rules:
        some = [by_cell[cell, name] for cell in cells]
        error = np.sqrt(sum(each["gain_se"] ** 2 for each in some)) / len(some)
        mean = {"gain": np.mean([each["gain"] for each in some]), "gain_se": error}
        table.add_row("mean of the cells", name, "", "", *_told(mean), "")
    Console(width=130).print(table)


def _percent(shares: list[float]) -> str:
    return f"{100 * np.mean(shares):.2f}"


def _told(difference: dict[str, Any]) -> list[str]:
    return [f"{100 * difference[name]:+.2f}" for name in ("gain", "gain_se")]


def _best(row: dict[str, Any]) -> int:
    """What predicts with ``caution=0``: the best by validation, the earlier of equals."""
    return int(np.argmax(row["choosing"]))


def _believed(row: dict[str, Any]) -> int:
    """What predicts by default: the same, if it is better than the start by a standard error."""
    t = _best(row)
    return t if row["choosing"][t] - row["choosing"][0] > row["error"][t] else 0


def _last(row: dict[str, Any]) -> int:
    return len(row["choosing"]) - 1


def _with_the_start(row: dict[str, Any]) -> int:
    """The best of the iterations and, after these, of their means with the start."""
    return int(np.argmax([*row["choosing"], *row["mixed"][0]]))


def _judged(row: dict[str, Any], number: int) -> float:
    found: list[float] = [*row["judging"], *row.get("mixed", [[], []])[1]]
    return found[number]


if __name__ == "__main__":
    main()
