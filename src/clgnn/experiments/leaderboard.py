"""Methods in the order of their results on the same splits, and what one should take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from clgnn.experiments.methods import base, collective, gnn_of
from clgnn.experiments.statistics import LEVEL, paired, standard_error

COLUMNS = [
    "method", "n", "mean", "standard_error", "low", "high", "to_best", "to_best_low", "to_best_high", "base",
    "gain", "gain_low", "gain_high", "wins", "seconds", "peak_memory",
]  # fmt: skip
SHARES = frozenset(
    {"accuracy", "balanced_accuracy", "macro_f1", "roc_auc", "average_precision", "calibration_error"}
)
"""The metrics that are shown in percent; so are ``f1:CLASS`` and ``accuracy@0.5``."""


def leaderboard(trials: pd.DataFrame, metric: str, lower_is_better: bool = False) -> pd.DataFrame:
    """One row per method, the best first.

    Differences are paired by split. Failed trials do not count.

    Args:
        trials: one row per trial: ``method``, ``trial`` (the number of its split), ``status``, the metric,
            ``seconds`` and ``peak_memory``.
        metric: the column that is compared.
        lower_is_better: whether a lower value of it is the better one.

    Returns:
        ``n`` splits; the ``mean``, its ``standard_error`` and its 95 % interval from ``low`` to ``high``;
        ``to_best``, the difference to the first method, with its interval; ``base``, the plain GNN that the
        method is compared with (its own; the best one for a rival), the ``gain`` over it with its interval,
        and ``wins``, the splits in which the method is better; the mean ``seconds`` of a fit and the largest
        ``peak_memory`` in MiB. What cannot be computed is NaN or None.

    Example:
        >>> rows = [{"method": m, "trial": t, "status": "done", "accuracy": a, "seconds": 1, "peak_memory": 1}
        ...         for m, values in {"gcn": (0.5, 0.6), "gcn+cl": (0.6, 0.8)}.items()
        ...         for t, a in enumerate(values)]
        >>> leaderboard(pd.DataFrame(rows), "accuracy").round(2)[["method", "mean", "base", "gain", "wins"]]
           method  mean base  gain  wins
        0  gcn+cl  0.70  gcn  0.15     2
        1     gcn  0.55  NaN   NaN  <NA>
    """
    done = trials[trials["status"] == "done"]
    groups = {str(name): group.set_index("trial") for name, group in done.groupby("method", sort=False)}
    sign = -1 if lower_is_better else 1
    means = {name: sign * group[metric].mean() for name, group in groups.items()}
    order = sorted(groups, key=lambda name: (-means[name], name))
    plain = next((name for name in order if gnn_of(name) == name), None)
    rows = [_row(name, groups, metric, sign, order[0], plain) for name in order]
    board = pd.DataFrame(rows, columns=COLUMNS)
    return board.astype({"wins": "Int64", "base": object})


def _row(
    name: str, groups: dict[str, pd.DataFrame], metric: str, sign: int, best: str, plain: str | None
) -> dict[str, Any]:
    group = groups[name]
    values = group[metric].astype(float)
    error = standard_error(values)
    reach = float(stats.t.ppf(1 - LEVEL / 2, len(values) - 1)) * error if len(values) > 1 else np.nan
    row: dict[str, Any] = {
        "method": name,
        "n": len(values),
        "mean": values.mean(),
        "standard_error": error,
        "low": values.mean() - reach,
        "high": values.mean() + reach,
        "seconds": group["seconds"].mean(),
        "peak_memory": group["peak_memory"].max(),
    }
    row |= {f"to_best{rest}": value for rest, value in _difference(values, groups[best][metric]).items()}
    compared = base(name) if base(name) in groups else plain
    if compared is not None and gnn_of(name) != name:
        other = groups[compared][metric]
        same = values.index.intersection(other.index)
        row |= {f"gain{rest}": value for rest, value in _difference(values, other).items()}
        row |= {"base": compared, "wins": int((sign * (values[same] - other[same]) > 0).sum())}
    return row


def _difference(values: pd.Series[Any], other: pd.Series[Any]) -> dict[str, float]:
    same = values.index.intersection(other.index)
    found = paired(values[same], other[same])
    return {"": found["gain"], "_low": found["low"], "_high": found["high"]}


def recommendation(
    trials: pd.DataFrame,
    metric: str,
    lower_is_better: bool = False,
    called: Callable[[str], str] = str,
) -> str:
    """One sentence: what to take, and how much better it is than the best of the other camp.

    The camps are collective learning, and everything else.

    Args:
        trials, metric, lower_is_better: as for :func:`leaderboard`.
        called: how a method is called.

    Example:
        >>> rows = [{"method": m, "trial": t, "status": "done", "accuracy": a, "seconds": 1, "peak_memory": 1}
        ...         for m, values in {"gcn": (0.5, 0.6, 0.5), "gcn+cl": (0.6, 0.72, 0.6)}.items()
        ...         for t, a in enumerate(values)]
        >>> print(recommendation(pd.DataFrame(rows), "accuracy"))
        Take gcn+cl: its accuracy is 64.0 %, 10.7 points above gcn, the best without collective learning (95 %
        interval 7.8 to 13.5), better in 3 of 3 splits.
    """
    board = leaderboard(trials, metric, lower_is_better)
    first = board.iloc[0]
    if first["method"] in ("majority", "random"):
        return f"Take none of them: no method is better than {called(first['method']).lower()}."
    name, text = metric.replace("_", " "), _text(metric)
    said = f"Take {called(first['method'])}: its {name} is {text(first['mean'])}"
    camp = collective(first["method"])
    others = [row for row in board.to_dict("records") if collective(row["method"]) != camp]
    if not others:
        return f"{said}."
    other = others[0]
    without = "without" if camp else "with"
    values = [_values(trials, row["method"], metric) for row in (first, other)]
    same = values[0].index.intersection(values[1].index)
    found = paired(values[0][same], values[1][same])
    sign = -1 if lower_is_better else 1
    wins = int((sign * (values[0][same] - values[1][same]) > 0).sum())
    rival = f"{called(other['method'])}, the best {without} collective learning"
    if abs(found["gain"]) < 1e-12:
        return f"{said}, the same as that of {rival}."
    points = _points(metric)
    way = "above" if found["gain"] > 0 else "below"
    said = f"{said}, {points(abs(found['gain']))} {way} {rival}"
    if len(same) < 2:
        return f"{said}, in the one split that there is: more splits would say how sure that is."
    low, high = sorted((abs(found["low"]), abs(found["high"])))
    if found["low"] <= 0 <= found["high"]:
        return (
            f"{said}, better in {wins} of {len(same)} splits: too little to tell the two apart (95 % "
            f"interval of the difference {points(found['low'], '+')} to {points(found['high'], '+')})."
        )
    unit = points(low).split(" ")[0]
    return (
        f"{said} (95 % interval {unit} to {points(high).split(' ')[0]}), better in {wins} of {len(same)} "
        "splits."
    )


def is_share(metric: str) -> bool:
    """Whether a metric is shown in percent.

    Example:
        >>> is_share("f1:fraud"), is_share("log_loss")
        (True, False)
    """
    return metric in SHARES or metric.startswith(("f1:", "accuracy@"))


def _text(metric: str) -> Callable[[float], str]:
    return (lambda value: f"{100 * value:.1f} %") if is_share(metric) else (lambda value: f"{value:.4g}")


def _points(metric: str) -> Callable[..., str]:
    if is_share(metric):
        return lambda value, sign="": f"{100 * value:{sign}.1f} points"
    return lambda value, sign="": f"{value:{sign}.4g}"


def _values(trials: pd.DataFrame, method: str, metric: str) -> pd.Series[Any]:
    rows = trials[(trials["status"] == "done") & (trials["method"] == method)]
    return rows.set_index("trial")[metric].astype(float)
