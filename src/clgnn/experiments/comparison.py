"""A plain GNN and its boosted self, side by side on random splits of a dataset, with rivals beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from clgnn import baselines
from clgnn.data import splits
from clgnn.data.graph import Graphs, Mask
from clgnn.estimators.collective import CollectiveClassifier
from clgnn.estimators.node import NodeEstimator, OnEpoch, ignore
from clgnn.estimators.settings import CollectiveSettings, as_plain
from clgnn.experiments.methods import GENERAL, OWN_TRAINING
from clgnn.experiments.run import fit
from clgnn.experiments.statistics import paired

TRAIN_LABELS = {"digits": 200, "citations": 85}
"""The training labels on the datasets that the paper does not have."""
SHARES = frozenset({"accuracy", "balanced_accuracy", "macro_f1"})
"""The metrics that are shown in percent."""

Watch = Callable[[str, NodeEstimator], AbstractContextManager[OnEpoch]]
"""Is entered around each fit, with a name for it and the model; gives the ``on_epoch`` of the fit."""
OnFitted = Callable[[str, NodeEstimator, splits.Split[Any], Mask | None], object]
"""Gets the name of a contender, the fitted model, the split, and the labels that it sees in prediction."""


def compare(
    data: Graphs,
    dataset: str,
    settings: Mapping[str, Any],
    methods: Sequence[str] = (),
    num_splits: int = 5,
    train_labels: int | None = None,
    watch: Watch = lambda name, model: nullcontext(ignore),
    on_fitted: OnFitted | None = None,
) -> list[dict[str, Any]]:
    """Fits the contenders to the same splits, and judges them on the test nodes.

    Args:
        data: the graph, or the graphs, of the dataset.
        dataset: its name, which says how it is split.
        settings: parameters of :class:`~clgnn.CollectiveClassifier`. The plain GNN has the same ones and as
            many epochs as all iterations together; the boosted one has at least one iteration.
        methods: rivals to run beside them, of :data:`clgnn.baselines.METHODS`.
        num_splits: how many random splits.
        train_labels: how many training labels; by default what is usual on the dataset.
        watch: is entered around each fit, to show progress.
        on_fitted: is called after each fit.

    Returns:
        One row per split: ``split``, its number; the score of ``plain``, ``boosted`` and each rival, and
        their ``<name>_seconds`` of fit and test; and ``gain``, boosted minus plain.

    Example:
        >>> from clgnn.data import datasets
        >>> settings = {"num_iterations": 1, "max_epochs": 2, "num_samples": 1}
        >>> rows = compare(datasets.load("digits"), "digits", settings, ["random"], num_splits=1)
        >>> sorted(rows[0])
        ['boosted', 'boosted_seconds', 'gain', 'plain', 'plain_seconds', 'random', 'random_seconds', 'split']
    """
    rows = []
    contenders = _contenders(settings, methods)
    sees_labels = settings.get("test_labels") == "partial"
    for number in range(num_splits):
        split = _split(dataset, data, train_labels, sees_labels, number)
        row: dict[str, Any] = {"split": number}
        for name, make in contenders.items():
            model = make(settings.get("seed", 0) + number)
            began = time.perf_counter()
            with watch(f"split {number} {name}", model) as on_epoch:
                observed = fit(model, data, split, sees_labels, on_epoch)
            row[name] = model.score(data, split.test_mask, observed, metric=settings.get("metric"))
            row[f"{name}_seconds"] = time.perf_counter() - began
            if on_fitted is not None:
                on_fitted(name, model, split, observed)
        row["gain"] = row["boosted"] - row["plain"]
        rows.append(row)
    return rows


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The means over the splits, and how sure the gain is.

    Returns:
        ``mean`` of every column of :func:`compare` but the split's number; and ``gain_se``, the standard
        error of the gain, None for a single split.

    Example:
        >>> summary([{"split": 0, "plain": 0.5, "boosted": 0.6, "gain": 0.1}])["gain_se"] is None
        True
    """
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0] if name != "split"}
    error = paired([row["boosted"] for row in rows], [row["plain"] for row in rows])["gain_se"]
    return {"mean": means, "gain_se": None if np.isnan(error) else error}


def _contenders(
    settings: Mapping[str, Any], methods: Sequence[str]
) -> dict[str, Callable[[int], NodeEstimator]]:
    """What makes a new model of each contender from a seed."""
    iterations = settings.get("num_iterations", CollectiveSettings().num_iterations)
    boosted = {**settings, "num_iterations": max(1, iterations)}
    plain = as_plain(boosted)

    def rival(name: str) -> Callable[[int], NodeEstimator]:
        given = plain if name in baselines.PLAIN else boosted
        if name in OWN_TRAINING:
            given = {setting: value for setting, value in given.items() if setting in GENERAL}
        return lambda seed: baselines.make(name, **{**given, "seed": seed})

    return {
        "plain": lambda seed: CollectiveClassifier(**{**plain, "seed": seed}),
        "boosted": lambda seed: CollectiveClassifier(**{**boosted, "seed": seed}),
        **{name: rival(name) for name in methods},
    }


def _split(
    dataset: str, data: Graphs, train_labels: int | None, sees_labels: bool, number: int
) -> splits.Split[Any]:
    """All known labels lie in one part of the graph; the paper's sizes, where it has the dataset."""
    if dataset not in TRAIN_LABELS:
        percent = 50 if sees_labels else 0
        return splits.paper(dataset, train_labels, test_label_percent=percent, trial=number, data=data)
    labels = train_labels or TRAIN_LABELS[dataset]
    observed = labels if sees_labels else 0
    return splits.connected(data, labels, observed, test_nodes=500, val_nodes=300, seed=number)
