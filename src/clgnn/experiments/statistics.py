"""What trials say together: means and standard errors, paired gains, their intervals and tests."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

from clgnn.experiments.published import CELL

LEVEL = 0.05
"""The paper's: a gain is significant below it, and its interval covers the rest."""

_COLUMNS = [
    *CELL, "n", "mean", "standard_error", "base", "pairs", "gain", "gain_se", "low", "high", "p", "p_holm",
    "significant", "best", "seconds", "peak_memory",
]  # fmt: skip


def cells(trials: pd.DataFrame) -> pd.DataFrame:
    """A row for each dataset, number of training labels, percent of test labels and method.

    Trials with the same number have the same split: a gain is the mean of the differences between a boosted
    GNN and its plain self, trial by trial. Failed trials do not count.

    Args:
        trials: of :func:`clgnn.experiments.ledger.read`, of one set of settings a method.

    Returns:
        ``n`` trials; ``mean`` and ``standard_error`` in percent, of :func:`metric`; ``base``, the plain
        method that it is compared with, or None; over ``pairs`` trials the ``gain`` in points, its
        ``gain_se``, its 95 % interval ``low`` to ``high`` and the ``p`` of a two-sided paired t-test;
        ``p_holm``, the same with Holm's correction for all gains of ``trials``; ``significant``: p < 0.05 and
        a gain, the paper's bold; ``best``: the highest mean of those with the same dataset and labels;
        ``seconds``, the mean of the fits, and ``peak_memory``, the largest. What cannot be computed is NaN.

    Raises:
        ValueError: if a trial is there twice, or its metric is not.

    Example:
        >>> cell = {"dataset": "cora", "train_labels": 85, "test_label_percent": 0, "status": "done"}
        >>> plain, boosted = (0.50, 0.52, 0.48), (0.51, 0.54, 0.51)
        >>> rows = [cell | {"method": "gcn", "trial": i, "accuracy": a} for i, a in enumerate(plain)]
        >>> rows += [cell | {"method": "gcn+cl", "trial": i, "accuracy": a} for i, a in enumerate(boosted)]
        >>> cells(pd.DataFrame(rows)).round(3)[["method", "n", "mean", "gain", "gain_se", "low", "high", "p"]]
           method  n  mean  gain  gain_se    low   high      p
        0     gcn  3  50.0   NaN      NaN    NaN    NaN    NaN
        1  gcn+cl  3  52.0   2.0    0.577 -0.484  4.484  0.074
    """
    done = _done(trials)
    rows: list[dict[str, Any]] = []
    percents: dict[tuple[Any, ...], pd.Series[float]] = {}
    for key, group in done.groupby(CELL):
        percent = group.set_index("trial")["percent"]
        percents[tuple(key)] = percent
        row: dict[str, Any] = {**dict(zip(CELL, key, strict=True)), "n": len(percent), "mean": percent.mean()}
        row["standard_error"] = stats.sem(percent) if len(percent) > 1 else np.nan
        row["seconds"] = group["seconds"].mean() if "seconds" in group else np.nan
        row["peak_memory"] = group["peak_memory"].max() if "peak_memory" in group else np.nan
        rows.append(row)
    for row in rows:
        row["base"] = base(row["method"])
        plain = percents.get((row["dataset"], row["train_labels"], row["test_label_percent"], row["base"]))
        boosted = percents[tuple(row[name] for name in CELL)]
        row |= _gain(boosted, plain) if plain is not None else {"pairs": 0, "p": np.nan}
    found = pd.DataFrame(rows, columns=_COLUMNS)
    found["base"] = pd.Series([row["base"] for row in rows], dtype=object)
    numbers = ["gain", "gain_se", "low", "high", "p", "p_holm"]
    found[numbers] = found[numbers].astype(float)
    tested = found["p"].notna()
    if tested.any():
        found.loc[tested, "p_holm"] = multipletests(found.loc[tested, "p"], alpha=LEVEL, method="holm")[1]
    found["significant"] = (found["p"] < LEVEL) & (found["gain"] > 0)
    found["best"] = found["mean"] == found.groupby(CELL[:3])["mean"].transform("max")
    return found


def by_iteration(trials: pd.DataFrame) -> pd.DataFrame:
    """The metric on the test nodes after each iteration, where trials have it: a row a cell and iteration.

    Returns:
        The columns of a cell, ``iteration`` from 0; ``n`` trials; ``mean``, ``standard_deviation`` and
        ``standard_error`` in percent, NaN for a single trial.

    Example:
        >>> cell = {"dataset": "cora", "train_labels": 85, "test_label_percent": 50, "method": "gcn+cl"}
        >>> rows = [cell | {"trial": 0, "status": "done", "accuracy": 0.6, "iterations": [0.5, 0.6]},
        ...         cell | {"trial": 1, "status": "done", "accuracy": 0.8, "iterations": [0.7, 0.8]}]
        >>> by_iteration(pd.DataFrame(rows)).round(2)[["iteration", "n", "mean", "standard_deviation"]]
           iteration  n  mean  standard_deviation
        0          0  2  60.0               14.14
        1          1  2  70.0               14.14
    """
    done = _done(trials)
    rows = [
        (*key, iteration, 100 * value)
        for *key, values in done[[*CELL, "iterations"]].itertuples(index=False, name=None)
        if isinstance(values, list)
        for iteration, value in enumerate(values)
    ]
    table = pd.DataFrame(rows, columns=[*CELL, "iteration", "percent"])
    found = table.groupby([*CELL, "iteration"])["percent"].agg(["size", "mean", "std", "sem"])
    new = {"size": "n", "std": "standard_deviation", "sem": "standard_error"}
    return found.rename(columns=new).reset_index()


def metric(dataset: str) -> str:
    """What is reported on a dataset: as in the paper, balanced accuracy where classes are very uneven.

    Example:
        >>> metric("friendster"), metric("cora")
        ('balanced_accuracy', 'accuracy')
    """
    return "balanced_accuracy" if dataset == "friendster" else "accuracy"


def base(method: str) -> str | None:
    """The plain method that another one is compared with.

    Example:
        >>> base("gcn+cl-uniform"), base("gcn"), base("ica")
        ('gcn', None, None)
    """
    plain, plus, _ = method.partition("+")
    return plain if plus else None


def _done(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials that count, with their metric in percent."""
    done = trials[trials["status"] == "done"]
    twice = done[done.duplicated([*CELL, "trial"])]
    if len(twice):
        first = twice.iloc[0]
        which = ", ".join(f"{name} {first[name]}" for name in [*CELL, "trial"])
        raise ValueError(
            f"{len(twice)} trials are there twice, first: {which}; expected one set of settings a method; "
            "leave out the rows with other `settings`"
        )
    percent = pd.Series(np.nan, done.index, dtype=float)
    for dataset in done["dataset"].unique():
        name, here = metric(dataset), done["dataset"] == dataset
        if name not in done or done.loc[here, name].isna().any():
            raise ValueError(
                f"trials on {dataset} are without {name}; expected it in every trial that is done"
            )
        percent[here] = 100 * done.loc[here, name].astype(float)
    return done.assign(percent=percent)


def _gain(boosted: pd.Series[float], plain: pd.Series[float]) -> dict[str, Any]:
    """The mean paired gain, and what is known of it."""
    both = pd.concat([boosted, plain], axis=1, join="inner", keys=["boosted", "plain"])
    gains = both["boosted"] - both["plain"]
    row: dict[str, Any] = {"pairs": len(gains), "gain": gains.mean(), "p": np.nan}
    if len(gains) < 2:
        return row
    row["gain_se"] = float(stats.sem(gains))
    reach = float(stats.t.ppf(1 - LEVEL / 2, len(gains) - 1)) * row["gain_se"]
    row |= {"low": row["gain"] - reach, "high": row["gain"] + reach}
    if not np.allclose(gains, 0, atol=1e-9):  # percent: less than that is rounding
        with warnings.catch_warnings():
            # differences that are all alike: t is infinite, or nearly so, and p is 0
            warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
            row["p"] = float(stats.ttest_rel(both["boosted"], both["plain"]).pvalue)
    return row
