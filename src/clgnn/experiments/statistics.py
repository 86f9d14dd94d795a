"""What trials say together: means and standard errors, paired gains, their intervals and tests."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from statsmodels.stats.multitest import multipletests

from clgnn.experiments.methods import CELL, base, competes

LEVEL = 0.05
"""The paper's level: below it a difference is significant, and its interval covers the rest."""
ENOUGH = 5
"""So many trials the paper has; cells with fewer are not the best beside others that have them."""

_COLUMNS = [
    *CELL, "n", "mean", "standard_error", "base", "pairs", "gain", "gain_se", "low", "high", "p", "p_holm",
    "significant", "best", "seconds", "peak_memory",
]  # fmt: skip


def cells(trials: pd.DataFrame) -> pd.DataFrame:
    """The numbers of a table: one row per dataset, training labels, percent of test labels and method.

    Trials with the same number have the same split. A gain is the mean difference between a boosted GNN and
    its plain self, trial by trial; it is negative for a loss. Failed trials do not count.

    Args:
        trials: one row per trial, from :func:`clgnn.experiments.ledger.read`, with one set of settings for
            each method.

    Returns:
        ``n`` is the number of trials. ``mean`` and ``standard_error`` are in percent, of :func:`metric`.
        ``base`` is the plain method that this one is compared with, or None. ``pairs``, ``gain``,
        ``gain_se``, ``low``, ``high`` and ``p`` come from :func:`paired`, in points. ``p_holm`` is ``p`` with
        Holm's correction for all gains of ``trials``. ``significant`` says that p < 0.05, for a gain or a
        loss. ``best`` marks the highest mean of those with the same dataset and labels that
        :func:`~clgnn.experiments.methods.competes` admits and that have :data:`ENOUGH` trials, if there are
        such. ``seconds`` is the mean of the fits and
        ``peak_memory`` the largest. What cannot be computed is NaN.

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
    groups = {tuple(key): group.set_index("trial") for key, group in _done(trials).groupby(CELL)}
    rows = [_row(key, groups) for key in groups]
    found = pd.DataFrame(rows, columns=_COLUMNS)
    found["base"] = pd.Series([row["base"] for row in rows], dtype=object)
    numbers = ["gain", "gain_se", "low", "high", "p", "p_holm"]
    found[numbers] = found[numbers].astype(float)
    tested = found["p"].notna()
    if tested.any():
        found.loc[tested, "p_holm"] = multipletests(found.loc[tested, "p"], alpha=LEVEL, method="holm")[1]
    found["significant"] = found["p"] < LEVEL
    found["best"] = best(found)
    return found


def best(found: pd.DataFrame) -> pd.Series[bool]:
    """Which rows of :func:`cells` are the best of their column, among the methods that are there."""
    most = found.groupby(CELL[:3])["n"].transform("max")
    enough = (found["n"] >= ENOUGH) | (most < ENOUGH)
    candidates = found["mean"].where(found["method"].map(competes).astype(bool) & enough)
    return candidates == candidates.groupby([found[name] for name in CELL[:3]]).transform("max")


def _row(key: tuple[Any, ...], groups: dict[tuple[Any, ...], pd.DataFrame]) -> dict[str, Any]:
    """The numbers of one cell, compared with its plain self where that is there."""
    group = groups[key]
    row: dict[str, Any] = {**dict(zip(CELL, key, strict=True)), "n": len(group), "base": base(key[-1])}
    row |= {"mean": group["percent"].mean(), "standard_error": standard_error(group["percent"])}
    row["seconds"] = group["seconds"].mean() if "seconds" in group else np.nan
    row["peak_memory"] = group["peak_memory"].max() if "peak_memory" in group else np.nan
    plain = groups.get((*key[:-1], row["base"]))
    if plain is None:
        return {**row, "pairs": 0}
    same = group.index.intersection(plain.index)
    return {**row, "pairs": len(same), **paired(group["percent"][same], plain["percent"][same])}


def leads(trials: pd.DataFrame, ours: Collection[str], others: Collection[str]) -> pd.DataFrame:
    """What the best of some methods has over the strongest of others, in each column of a table.

    Both are compared on the splits that both have, and only if these are :data:`ENOUGH`. The strongest of the
    others is the one with the smallest lead over it.

    Args:
        trials: one row per trial, as for :func:`cells`.
        ours: the methods whose lead is asked for; the one with the highest mean stands for them.
        others: the methods that they are compared with.

    Returns:
        One row per dataset, training labels and percent of test labels that has both: ``method``, ``other``,
        ``pairs``, and ``gain``, ``gain_se``, ``low``, ``high`` and ``p`` of :func:`paired`.

    Example:
        >>> cell = {"dataset": "cora", "train_labels": 85, "test_label_percent": 0, "status": "done"}
        >>> percents = {"gcn+cl-auto": range(60, 65), "gcn": range(50, 55), "ica": range(58, 63)}
        >>> rows = [cell | {"method": method, "trial": i, "accuracy": value / 100}
        ...         for method, values in percents.items() for i, value in enumerate(values)]
        >>> found = leads(pd.DataFrame(rows), ["gcn+cl-auto"], ["gcn", "ica"])
        >>> found.round(2)[["method", "other", "pairs", "gain"]]
                method other  pairs  gain
        0  gcn+cl-auto   ica      5   2.0
    """
    columns: dict[tuple[Any, ...], dict[str, pd.Series[float]]] = {}
    for (*column, method), group in _done(trials).groupby(CELL):
        if len(group) >= ENOUGH:
            columns.setdefault(tuple(column), {})[str(method)] = group.set_index("trial")["percent"]
    rows: list[dict[str, Any]] = []
    for key, here in columns.items():
        first = max((name for name in here if name in ours), key=lambda name: here[name].mean(), default=None)
        if first is None:
            continue
        found: list[dict[str, Any]] = []
        for other in (name for name in here if name in others and name != first):
            same = here[first].index.intersection(here[other].index)
            if len(same) >= ENOUGH:
                differ = paired(here[first][same], here[other][same])
                found.append({"other": other, "pairs": len(same), **differ})
        if found:
            row = {**dict(zip(CELL, key, strict=False)), "method": first}
            rows.append(row | min(found, key=lambda one: float(one["gain"])))
    return pd.DataFrame(rows)


def paired(values: ArrayLike, plain: ArrayLike) -> dict[str, float]:
    """The mean difference of pairs, and how sure it is.

    Args:
        values, plain: as many numbers; those at the same place belong together.

    Returns:
        ``gain``, the mean of ``values - plain``; its standard error ``gain_se``; its 95 % interval by
        Student's t from ``low`` to ``high``; and the ``p`` of a two-sided paired t-test. What too few pairs
        cannot tell is NaN, and so is the ``p`` of pairs that do not differ at all.

    Example:
        >>> {name: round(value, 3) for name, value in paired([51, 54, 51], [50, 52, 48]).items()}
        {'gain': 2.0, 'gain_se': 0.577, 'low': -0.484, 'high': 4.484, 'p': 0.074}
    """
    first, second = np.asarray(values, dtype=float), np.asarray(plain, dtype=float)
    gains = first - second
    gain = float(gains.mean()) if len(gains) else np.nan
    error, p = standard_error(gains), np.nan
    reach = float(stats.t.ppf(1 - LEVEL / 2, len(gains) - 1)) * error if len(gains) > 1 else np.nan
    if len(gains) > 1 and not np.allclose(gains, 0, atol=1e-9):  # less than that is rounding
        with warnings.catch_warnings():
            # differences that are all alike: t is infinite, or nearly so, and p is 0
            warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
            p = float(stats.ttest_rel(first, second).pvalue)
    return {"gain": gain, "gain_se": error, "low": gain - reach, "high": gain + reach, "p": p}


def standard_error(values: ArrayLike) -> float:
    """The standard error of the mean; NaN for fewer than two values.

    Example:
        >>> standard_error([1.0, 3.0]), standard_error([1.0])
        (1.0, nan)
    """
    numbers = np.asarray(values, dtype=float)
    return float(stats.sem(numbers)) if len(numbers) > 1 else np.nan


def by_iteration(trials: pd.DataFrame) -> pd.DataFrame:
    """The metric on the test nodes after each iteration: one row per cell and iteration.

    Trials without iterations do not count.

    Returns:
        The columns of a cell; ``iteration``, from 0; ``n``, the number of trials; ``mean``,
        ``standard_deviation`` and ``standard_error`` in percent, the last two NaN for a single trial.

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


def with_first(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials of boosted GNNs, and their iteration 0 as trials of the plain GNNs.

    In the paper's protocol the plain GNN has the epochs of one iteration: it is iteration 0.

    Example:
        >>> cell = {"dataset": "cora", "train_labels": 85, "test_label_percent": 0, "method": "gcn+cl"}
        >>> row = cell | {"trial": 0, "status": "done", "accuracy": 0.6, "iterations": [0.5, 0.6]}
        >>> with_first(pd.DataFrame([row]))[["method", "accuracy"]]
           method  accuracy
        0  gcn+cl       0.6
        1     gcn       0.5
    """
    repeated = trials["iterations"].map(lambda values: isinstance(values, list)).astype(bool)
    boosted = trials[repeated & trials["method"].str.endswith("+cl") & (trials["status"] == "done")]
    first = boosted.assign(method=boosted["method"].map(base))
    for dataset in first["dataset"].unique():
        here = first["dataset"] == dataset
        first.loc[here, metric(dataset)] = first.loc[here, "iterations"].str[0].astype(float)
    return pd.concat([boosted, first], ignore_index=True)


def metric(dataset: str) -> str:
    """The metric that is reported on a dataset: as in the paper, balanced accuracy where classes are uneven.

    Example:
        >>> metric("friendster"), metric("cora")
        ('balanced_accuracy', 'accuracy')
    """
    return "balanced_accuracy" if dataset == "friendster" else "accuracy"


def _done(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials that count, with their metric in percent."""
    done = trials[trials["status"] == "done"]
    twice = done[done.duplicated([*CELL, "trial"])]
    if len(twice):
        first = twice.iloc[0]
        which = ", ".join(f"{name} {first[name]}" for name in [*CELL, "trial"])
        raise ValueError(
            f"{len(twice)} trials are there twice, first: {which}; expected one set of settings for each "
            "method: leave out the rows with other `settings`"
        )
    percent = pd.Series(np.nan, done.index, dtype=float)
    for dataset in done["dataset"].unique():
        name, here = metric(dataset), done["dataset"] == dataset
        if name not in done or done.loc[here, name].isna().any():
            raise ValueError(
                f"some trials on {dataset} have no {name}; expected it in all that are done: run them again"
            )
        values = 100 * done.loc[here, name].astype(float)
        percent[here] = values.round(4)  # as an export has them, so that equal trials are equal
    return done.assign(percent=percent)
