"""The first sentence of a page: the answer, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from clgnn.experiments.methods import CELL
from clgnn.experiments.statistics import LEVEL, paired
from clgnn.report import names
from clgnn.report.printed import printed

_ROUNDING = 1e-9  # less than that is no difference
Said = dict[str, Any]
"""``headline``, the sentence; and ``verdict``: ``better``, ``worse``, ``level``, or None if it is open."""


@dataclass(frozen=True)
class Count:
    """How many gains have an interval above 0, below 0, and around it."""

    gains: int
    losses: int
    level: int

    @property
    def cells(self) -> int:
        return self.gains + self.losses + self.level

    def __str__(self) -> str:
        """In words, after the number of cells.

        Example:
            >>> str(Count(2, 1, 4)), str(Count(1, 0, 1))
            ('2 gain, 1 loses, 4 are level', '1 gains, 0 lose, 1 is level')
        """
        gain, lose, be = (
            pair[n == 1]
            for pair, n in (
                (("gain", "gains"), self.gains),
                (("lose", "loses"), self.losses),
                (("are", "is"), self.level),
            )
        )
        return f"{self.gains} {gain}, {self.losses} {lose}, {self.level} {be} level"


@dataclass(frozen=True)
class Gains:
    """What collective learning does to the plain GNNs: ours, and in the paper."""

    ours: Count
    paper: Count
    methods: tuple[str, ...]

    @property
    def sentence(self) -> str:
        if not self.ours.cells:
            return (
                "No cell has two trials or more of both a plain and a boosted GNN: this page cannot say yet "
                "whether collective learning helps."
            )
        *first, last = [names.method(method.removesuffix("+cl")) for method in self.methods]
        who = f"{', '.join(first)} and {last}" if first else last
        said = f"{who} with collective learning: {_of_cells(self.ours, 'cell')} (95 % intervals)"
        return f"{said}; the paper: {_of_cells(self.paper)}." if self.paper.cells else f"{said}."


def _of_cells(count: Count, what: str = "") -> str:
    gains, rest = str(count).split(" ", 1)
    noun = f" {what}{'s' if count.cells != 1 else ''}" if what else ""
    return f"{gains} of {count.cells}{noun} {rest}"


def count_gains(cells: pd.DataFrame) -> Gains:
    """Counts the cells that gain by collective learning, lose by it, and are level.

    A cell gains if the 95 % interval of its paired gain lies above 0, and loses if it lies below. Only
    boosted GNNs count (``+cl``), in cells with two paired trials or more; the paper's numbers are those of
    the same cells.

    Args:
        cells: from :func:`clgnn.experiments.statistics.cells`.

    Example:
        >>> row = {"dataset": "cora", "train_labels": 85, "test_label_percent": 0, "method": "gcn+cl"}
        >>> found = count_gains(pd.DataFrame([row | {"low": 0.5, "high": 2.5}]))
        >>> found.ours
        Count(gains=1, losses=0, level=0)
        >>> print(found.sentence)
        GCN with collective learning: 1 of 1 cell gains, 0 lose, 0 are level (95 % intervals);
        the paper: 1 of 1 gains, 0 lose, 0 are level.
    """
    boosted = cells[cells["method"].str.endswith("+cl") & cells["low"].notna() & cells["high"].notna()]
    keys = boosted[CELL].itertuples(index=False, name=None)
    papers = [printed()[key] for key in keys if key in printed()]
    return Gains(
        _count(zip(boosted["low"], boosted["high"], strict=True)),
        _count((one["low"], one["high"]) for one in papers),
        tuple(sorted(boosted["method"].unique(), key=names.method_order)),
    )


def _count(intervals: Iterable[tuple[float, float]]) -> Count:
    found = [_verdict(low, high) for low, high in intervals]
    return Count(found.count("better"), found.count("worse"), found.count("level"))


def _verdict(low: float, high: float) -> str | None:
    if np.isnan(low) or np.isnan(high):
        return None
    return "better" if low > _ROUNDING else "worse" if high < -_ROUNDING else "level"


def of_comparison(
    dataset: str, gnn: str, metric: str, values: tuple[ArrayLike, ArrayLike], *, points: bool, lower: bool
) -> Said:
    """What boosting does to a GNN on a dataset.

    Args:
        dataset, gnn, metric: their names.
        values: of the boosted GNN and of the plain one, split by split; shares in percent.
        points: whether differences are points of a percentage.
        lower: whether lower values are better.

    Example:
        >>> values = [80.0, 81.0, 80.5], [75.0, 75.5, 76.0]
        >>> of_comparison("cora", "gcn", "accuracy", values, points=True, lower=False)["headline"]
        'On cora, boosted gcn is 5.0 points better than the plain one (95 % interval 3.8 to 6.2, better in 3
        of 3 splits).'
    """
    boosted, plain = (np.asarray(part, dtype=float) for part in (values[::-1] if lower else values))
    found, splits = paired(boosted, plain), len(boosted)
    wins = f"better in {int((boosted > plain + _ROUNDING).sum())} of {splits} splits"
    verdict = _verdict(found["low"], found["high"])
    digits = 1 if points else 4

    def text(value: float, sign: str = "") -> str:
        return f"{value:{sign}.{digits}f}".replace("-", "−")

    def by(value: float, word: str) -> str:
        size = text(abs(value))
        if points:
            return f"{size} points {word} than the plain one"
        return f"{word} than the plain one by {size} in {metric.replace('_', ' ')}"

    start, gain = f"On {dataset}, boosted {gnn} is", found["gain"]
    if verdict is None:
        if abs(gain) <= _ROUNDING:
            said = f"{start} as good as the plain one in the only split"
        else:
            said = f"{start} {by(gain, 'better' if gain > 0 else 'worse')} in the only split"
        return {"headline": f"{said}; one split cannot say how sure that is.", "verdict": None}
    if verdict == "level":
        unit = " points" if points else f" in {metric.replace('_', ' ')}"
        signed = sorted((-1 if lower else 1) * found[name] for name in ("low", "gain", "high"))
        low, middle, high = (text(value, "+") for value in signed)
        said = (
            f"On {dataset}, boosting {gnn} makes no difference that {splits} splits can show "
            f"({middle}{unit}, 95 % interval {low} to {high}, {wins})."
        )
        return {"headline": said, "verdict": verdict}
    ends = [text(value) for value in sorted((abs(found["low"]), abs(found["high"])))]
    said = f"{start} {by(gain, verdict)} (95 % interval {' to '.join(ends)}, {wins})."
    return {"headline": said, "verdict": verdict}


def share(right: int, total: int) -> dict[str, float]:
    """A share in percent, and its 95 % interval by Wilson; NaN of nothing.

    Example:
        >>> {name: round(value, 1) for name, value in share(9, 10).items()}
        {'value': 90.0, 'low': 59.6, 'high': 98.2}
    """
    if not total:
        return dict.fromkeys(("value", "low", "high"), float("nan"))
    low, high = proportion_confint(right, total, alpha=LEVEL, method="wilson")
    return {"value": 100 * right / total, "low": 100 * float(low), "high": 100 * float(high)}


def of_classes(name: str, counts: NDArray[np.int64], classes: Sequence[str]) -> Said:
    """How often a classifier is right, against always saying the largest class.

    Args:
        name: of the model.
        counts: the nodes by true class (rows) and predicted class (columns).
        classes: the names of the classes.

    Example:
        >>> of_classes("m", np.array([[40, 0], [5, 15]]), ["no", "yes"])["headline"]
        'm is right on 91.7 % of 60 nodes (95 % interval 81.9 to 96.4), against 66.7 % for always saying the
        largest class.'
    """
    total, found = int(counts.sum()), share(int(np.trace(counts)), int(counts.sum()))
    sizes = counts.sum(axis=1)
    majority = 100 * int(sizes.max()) / total
    start = (
        f"{name} is right on {found['value']:.1f} % of {total:,} node{'s' if total != 1 else ''} "
        f"(95 % interval {found['low']:.1f} to {found['high']:.1f})"
    )
    largest = f"always saying the largest class ({majority:.1f} %)"
    said = {
        "answer": {**found, "nodes": total, "majority": majority, "largest": classes[int(sizes.argmax())]}
    }
    if (sizes > 0).sum() == 1:
        return {**said, "headline": f"{start}; all of them are of one class.", "verdict": None}
    if found["low"] > majority:
        headline = f"{start}, against {majority:.1f} % for always saying the largest class."
        return {**said, "headline": headline, "verdict": "better"}
    if found["high"] < majority:
        return {**said, "headline": f"{start}, which is worse than {largest}.", "verdict": "worse"}
    return {
        **said,
        "headline": f"{start}, which is no better than {largest} as far as these nodes can show.",
        "verdict": "level",
    }


def of_numbers(name: str, true: ArrayLike, predicted: ArrayLike) -> Said:
    """How far a regressor is off, against always saying the mean.

    Args:
        name: of the model.
        true, predicted: as many numbers.

    Example:
        >>> true = np.arange(12.0)
        >>> of_numbers("m", true, true + np.tile([1, -2], 6))["headline"]
        'm is off by 1.581 (root mean squared error, 95 % interval 1.227 to 1.87) on 12 nodes, against 3.452
        for always saying the mean.'
    """
    y, guess = np.asarray(true, dtype=float), np.asarray(predicted, dtype=float)
    squares, others = (y - guess) ** 2, (y - y.mean()) ** 2
    rmse, spread = float(np.sqrt(squares.mean())), float(y.std())
    nodes = f"{len(y):,} node{'s' if len(y) != 1 else ''}"
    if len(y) < 2:
        said = f"{name} is off by {rmse:.4g} on {nodes}; one node cannot say how sure that is."
        return {"headline": said, "verdict": None}
    reach = float(stats.t.ppf(1 - LEVEL / 2, len(y) - 1)) * float(stats.sem(squares))
    low, high = (float(np.sqrt(max(0.0, squares.mean() + side * reach))) for side in (-1, 1))
    difference = paired(others, squares)
    verdict = _verdict(difference["low"], difference["high"])
    start = (
        f"{name} is off by {rmse:.4g} (root mean squared error, 95 % interval {low:.4g} to {high:.4g}) "
        f"on {nodes}"
    )
    end = {
        "better": f", against {spread:.4g} for always saying the mean.",
        "worse": f", which is worse than always saying the mean ({spread:.4g}).",
        "level": f", which is no better than always saying the mean ({spread:.4g}) as far as these nodes "
        "can show.",
    }
    answer = {"value": rmse, "low": low, "high": high, "nodes": len(y), "mean": spread}
    return {"headline": start + end[verdict or "level"], "verdict": verdict, "answer": answer}
