"""``clgnn report``: the results of a ledger as one HTML page."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import torch

from clgnn import datasets, splits
from clgnn.cli.options import console, print_json

_NEEDED = frozenset({
    "dataset", "train_labels", "test_label_percent", "method", "trial", "settings", "status", "error",
    "validation", "iterations", "reliability", "seconds", "predict_seconds", "peak_memory", "versions",
    "revision", "finished",
})  # fmt: skip
_PREFERRED = ("cora", "gcn")  # the graph that is drawn, if it is among the trials


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--out", default="report.html", type=click.Path(dir_okay=False, path_type=Path), help="The page to write."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def report(results: Path, out: Path, force: bool, as_json: bool) -> None:
    """Show RESULTS as one HTML page that needs no network.

    RESULTS is the folder of a ledger, as `clgnn reproduce` writes it, or a CSV export of one. Our numbers
    stand beside the paper's, with the settings and the trials behind each of them.
    """
    from clgnn import report as reports
    from clgnn.experiments import ledger

    check_out(out, force, "--out")
    if not results.exists():
        raise ValueError(
            f"{results} is not there; expected a folder with ledger.sqlite, or a CSV export of one"
        )
    try:
        trials = ledger.read(results)
    except (sqlite3.DatabaseError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(
            f"{results} could not be read ({error}); expected a folder with ledger.sqlite, or a CSV export "
            "of one"
        ) from error
    missing = sorted(_NEEDED - set(trials))
    if missing:
        raise ValueError(
            f"{results} has no column {', '.join(missing)}; expected what `clgnn reproduce` wrote, or a CSV "
            "export of it"
        )
    content = reports.from_trials(trials, graph_of(trials))
    reports.write(out, content)
    done = int((trials["status"] == "done").sum())
    if as_json:
        print_json({
            "report": str(out), "trials": done, "failed": len(trials) - done, "cells": len(content["cells"]),
            "graph": content["graph"] is not None,
        })  # fmt: skip
        return
    console.print(f"{done:,} trials, {len(content['cells']):,} cells; the page is {out}.", highlight=False)


def check_out(path: Path, force: bool, option: str) -> None:
    """Refuses a file that is there, and a name that no browser would open."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{path} ends in {path.suffix or 'nothing'}; expected .html")
    if path.exists() and not force:
        hint = ", or --force to replace it" if option == "--out" else ""
        raise ValueError(f"{path} exists; choose another {option}{hint}")


def graph_of(trials: pd.DataFrame) -> dict[str, Any] | None:
    """The graph of a trial that kept its predictions, plain and boosted; None if there is none to draw."""
    has = np.array([isinstance(value, bytes) for value in trials["predictions"]], dtype=bool)
    kept = trials[has & (trials["status"] == "done").to_numpy()]
    column = ["dataset", "train_labels", "test_label_percent", "trial"]
    found = []
    for key, group in kept.groupby(column):
        made = dict(zip(group["method"], group["predictions"], strict=True))
        found += [(*key, made, gnn) for gnn in made if f"{gnn}+cl" in made and _can_draw(str(key[0]))]
    if not found:
        return None
    found.sort(
        key=lambda row: (row[0] != _PREFERRED[0], row[5] != _PREFERRED[1], row[1], row[2], row[0], row[3])
    )
    dataset, labels, percent, trial, made, gnn = found[0]
    return _drawn(str(dataset), int(labels), int(percent), int(trial), made, str(gnn))


def _can_draw(dataset: str) -> bool:
    return dataset in splits.COLUMNS and datasets.is_here(dataset)


def _drawn(
    dataset: str, labels: int, percent: int, trial: int, made: dict[str, bytes], gnn: str
) -> dict[str, Any] | None:
    from clgnn.report.graph_view import view_split
    from clgnn.report.trials import describe

    data = datasets.load(dataset)
    split = splits.paper(dataset, labels, percent, trial, data=data)
    predictions = {
        name: torch.from_numpy(np.frombuffer(made[method], np.uint8).astype(np.int64))
        for name, method in (("plain", gnn), ("boosted", f"{gnn}+cl"))
    }
    caption = (
        f"{describe(gnn)['name']} plain and boosted on {dataset}, {labels:,} labels, trial {trial}. "
        "Ringed nodes are predicted wrong."
    )
    return view_split(data, predictions, split, caption)
