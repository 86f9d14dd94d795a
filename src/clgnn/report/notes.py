"""What must be said below tables, figures and pages: what marks mean, and what numbers do not show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pandas as pd

from clgnn.data.datasets import FACEBOOK100
from clgnn.experiments.methods import CELL, TRAINS_ON_TEST_GRAPH, ablation
from clgnn.experiments.statistics import ENOUGH, LEVEL
from clgnn.report import names

PAPER_TRIALS = 5
"""How many trials each published number comes from."""

GAINS = (
    "Accuracy in % (standard error). + CL: the gain over the plain GNN in points (its standard error), "
    f"negative for a loss, over the splits that have both; bold where p < {LEVEL} in a two-sided paired "
    "t-test, for gains and losses alike. Published: the paper's numbers, below ours, with its own bold ones."
)
"""How to read a table of accuracies and gains."""

_DAGGER = "†: trains on the observed labels of the test graph as well, which the others do not."


def daggers(methods: Iterable[str]) -> list[str]:
    """What † means, if a method has it.

    Example:
        >>> daggers(["gcn", "ica"])
        []
    """
    return [_DAGGER] if TRAINS_ON_TEST_GRAPH & set(methods) else []


def best(methods: Iterable[str], few: bool = False) -> str:
    """What the mark of the best means; ``few``: whether some cells have too few trials for it."""
    found = set(methods)
    out = ["methods with †"] if TRAINS_ON_TEST_GRAPH & found else []
    out += ["ablations"] if any(map(ablation, found)) else []
    out += [f"cells with fewer than {ENOUGH} trials, where others have them,"] if few else []
    return "the best of its column" + (f"; {' and '.join(out)} do not compete" if out else "")


def too_few(found: pd.DataFrame) -> bool:
    """Whether some cells have fewer trials than they need to be the best beside others."""
    return bool((found["n"] < ENOUGH).any() and (found["n"] >= ENOUGH).any())


def on_datasets(datasets: Iterable[str], metric: bool = True) -> list[str]:
    """What must be known of the datasets; with ``metric``, also which one has another metric."""
    there = set(datasets)
    notes = [names.STAND_IN] if FACEBOOK100 in there else []
    return notes + (["Friendster: balanced accuracy."] if metric and "friendster" in there else [])


def holm(shown: pd.DataFrame) -> list[str]:
    """How many bold differences survive Holm's correction, of :func:`~clgnn.experiments.statistics.cells`."""
    if shown["p"].isna().all():
        return []
    bold = shown[shown["significant"]]
    if bold.empty:
        return ["No gain or loss is significant; the CSV file has all p-values and intervals."]
    stay = int((bold["p_holm"] < LEVEL).sum())
    return [
        f"{stay} of {len(bold)} bold differences stay significant with Holm's correction for all that were "
        "tested; the CSV file has both p-values, and intervals."
    ]


MANY = 12
"""Above so many cells with another number of trials, they are not named one by one."""


def number_of_trials(found: pd.DataFrame, counts: pd.Series[Any]) -> str:
    """How many trials most cells have, and which have another number.

    Args:
        found: one row per cell.
        counts: the number of trials of each row.
    """
    by_count: dict[int, list[str]] = defaultdict(list)
    for n, label in _by_label(found, counts):
        by_count[n].append(label)
    if sum(len(set(labels)) for labels in by_count.values()) - max(map(len, by_count.values())) > MANY:
        return f"{min(by_count)} to {max(by_count)} trials in a cell; the CSV file has the number of each."
    usual = max(by_count, key=lambda n: (len(by_count[n]), n))
    note = f"{usual} trial{'s' * (usual != 1)} in each cell"
    note += f" (the paper: {PAPER_TRIALS})" if usual < PAPER_TRIALS else ""
    others = [
        f"{n} in {'; '.join(dict.fromkeys(labels))}"
        for n, labels in sorted(by_count.items(), reverse=True)
        if n != usual
    ]
    return f"{note}, but {', and '.join(others)}." if others else f"{note}."


def _by_label(found: pd.DataFrame, counts: pd.Series[Any]) -> list[tuple[int, str]]:
    """The number of trials and the name of each cell; where all of a dataset have as many, its name."""
    keys = found[CELL].itertuples(index=False, name=None)
    alike = counts.groupby(found["dataset"]).agg(lambda some: len(some) > 1 and some.nunique() == 1)
    return [
        (
            int(n),
            f"all of {names.dataset(dataset)}"
            if alike[dataset]
            else f"{names.method(method)} on {names.dataset(dataset)} {count}, {percent} %",
        )
        for (dataset, count, percent, method), n in zip(keys, counts, strict=True)
    ]
