"""Which method is best on one's own data: all of them on the same random splits of the known labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import torch
from torch import Tensor

from clgnn.data import datasets, splits
from clgnn.data.graph import Graphs, as_list, as_mask
from clgnn.estimators.checkpoints import fingerprint
from clgnn.estimators.labelling import Classes, Numbers
from clgnn.estimators.node import NodeEstimator
from clgnn.experiments import run as running
from clgnn.experiments.ground import Ground, described, draw, kept, make, shared
from clgnn.experiments.leaderboard import leaderboard, recommendation
from clgnn.experiments.ledger import Ledger
from clgnn.experiments.methods import (
    ABLATIONS,
    ALL_LABELS,
    GNNS,
    NEEDS_TEST_LABELS,
    REGRESSION,
    TABULAR,
    TRAINS_ON_TEST_GRAPH,
    base,
    check,
    gnn_of,
    methods,
)
from clgnn.experiments.plan import Config, Trial, trial_of
from clgnn.experiments.workers import connect, elsewhere
from clgnn.files import others, written

Methods: TypeAlias = Sequence[str] | Mapping[str, Any]
Watch = Callable[[Sequence[Trial]], AbstractContextManager[object]]
_MANIFEST = "comparison.json"
_EXPECTED = "expected a folder that `clgnn compare` wrote to"


@dataclass(frozen=True, eq=False)
class Comparison:
    """The results of several methods on the same splits.

    Attributes:
        name: of the data.
        metric: the metric that is compared.
        lower_is_better: whether a lower value of it is the better one.
        task: ``"classification"`` or ``"regression"``.
        trials: one row per method and split, from the ledger; ``method``, ``trial`` (the split), ``status``,
            every metric, ``seconds``, ``settings`` and more.
        splits: how the labels were split, in words that a reader understands.
    """

    name: str
    metric: str
    lower_is_better: bool
    task: str
    trials: pd.DataFrame
    splits: dict[str, Any]

    @property
    def leaderboard(self) -> pd.DataFrame:
        """One row per method, the best first; see :func:`clgnn.experiments.leaderboard.leaderboard`."""
        return leaderboard(self.trials, self.metric, self.lower_is_better)

    @property
    def best(self) -> str:
        """The method with the best mean."""
        return str(self.leaderboard["method"].iloc[0])

    @property
    def failed(self) -> pd.DataFrame:
        """The rows of the trials that failed."""
        return self.trials[self.trials["status"] == "failed"]

    def recommendation(self, called: Callable[[str], str] = str) -> str:
        """One sentence: what to take, and how much better it is."""
        return recommendation(self.trials, self.metric, self.lower_is_better, called)

    def model(self, method: str | None = None) -> NodeEstimator:
        """A new model of a method, by default of the best, with the settings that it was compared with.

        Raises:
            ValueError: if the method was not compared, or was one of your own.
        """
        wanted = method or self.best
        rows = self.trials[self.trials["method"] == wanted]
        if not len(rows):
            raise ValueError(f"method is {wanted!r}; expected one of {', '.join(self.leaderboard['method'])}")
        settings = dict(rows["settings"].iloc[0])
        if "estimator" in settings:
            raise ValueError(f"{wanted} is an estimator of your own, which no folder keeps; fit it yourself")
        return make(wanted, settings, self.task)


def compare(
    data: Graphs | str,
    methods: Methods | None = None,
    *,
    num_splits: int | None = None,
    split: str | Sequence[splits.Split[Any]] | None = None,
    test_share: float = 0.2,
    val_share: float = 0.2,
    train_labels: int | None = None,
    test_labels: str = "partial",
    metric: str | Callable[..., float] | None = None,
    settings: Mapping[str, Any] | None = None,
    folder: str | PathLike[str] | None = None,
    jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    name: str | None = None,
    watch: Watch = lambda planned: nullcontext(),
) -> Comparison:
    """Fits methods to the same random splits of the known labels, and judges them on the labels left out.

    The plain GNN has as many epochs, and as much patience, as all stages of its boosted self together.

    Args:
        data: a graph, a list of graphs, or the name of a dataset. Labels that are unknown are -1, or NaN.
        methods: names as in ``clgnn reproduce``: a GNN (``"gcn"``), its boosted self (``"gcn+cl"``), a rival
            (``"hist_gradient_boosting"``); or a dictionary of your own names and estimators, or scikit-learn
            classifiers. By default all that apply.
        num_splits: how many splits there are; by default 10, or as many as you give.
        split: ``"random"``, by classes; ``"connected"``, all labels to learn from in one part of the graph;
            ``"graphs"``, whole graphs for training, validation and test (the default for a list of five or
            more); or your own splits.
        test_share, val_share: the shares of the known labels, or of the graphs, that judge and that choose.
        train_labels: how many labels to learn from; by default all others.
        test_labels: ``"partial"``: the labels to learn from are seen when the others are predicted, as in one
            partially labelled graph; ``"none"``: they are not, as on a new graph without labels.
        metric: what is compared and what validation goes by; accuracy by default, RMSE for numbers.
        settings: parameters of :class:`~clgnn.CollectiveClassifier` for all methods that have them.
        folder: keeps every trial, so that the same call goes on after a stop; by default nothing is kept.
        jobs: how many fits run at a time, each in a process of its own.
        backend: ``"loky"`` for processes of this machine, or ``"ray"`` for those of a Ray cluster, which must
            see the folder.
        address: of a Ray cluster; without one, a cluster is started on this machine.
        name: of the data, for the tables.
        watch: is entered while the trials run, to show progress.

    Raises:
        ValueError: if an argument means nothing here, or the folder holds another comparison.

    Example:
        >>> data = datasets.load("citations", num_nodes=300)
        >>> found = compare(data, ["random", "label_propagation"], num_splits=3)
        >>> found.best, len(found.trials)
        ('label_propagation', 6)
    """
    connect(backend, address)
    named = name or (data if isinstance(data, str) else "data")
    graphs = datasets.load(data) if isinstance(data, str) else data
    y = torch.cat([graph.y for graph in as_list(graphs)])
    numbers = y.is_floating_point()
    labels = Numbers if numbers else Classes
    called = labels.find_metric(metric or labels.default_metric)
    kind = split if split is not None else ("graphs" if len(as_list(graphs)) >= 5 else "random")
    shares = {"test_share": test_share, "val_share": val_share, "train_labels": train_labels}
    made = draw(graphs, kind, num_splits, shares, test_labels)
    given = {
        **(settings or {}),
        "test_labels": test_labels,
        "metric": None if metric is None else called.name,
    }
    estimators, names = _contenders(methods, numbers, made[0], test_labels)
    count = int(as_mask(made[0].train_mask, graphs, "train_mask").sum())
    percent = 100 if test_labels == "partial" else 0
    planned = [
        _trial((named, count, percent, one), number, given, estimators)
        for number in range(len(made))
        for one in names
    ]
    task = "regression" if numbers else "classification"
    about = {
        "format": 1,
        "name": named,
        "metric": called.name,
        "lower_is_better": called.lower_is_better,
        "task": task,
        "splits": described(kind, shares, test_labels, made),
        "data": fingerprint({}, _tensors(graphs)),
    }
    with kept(folder) as place:
        _claim(place, about)
        ledger = Ledger(place)
        ledger.assign((trial.key, trial.cell, trial.settings) for trial in planned)
        own = metric if callable(metric) else None
        with watch(planned), shared(graphs, made, place, elsewhere(jobs, backend)) as stored:
            running.run(planned, place, jobs, backend, prepare=Ground(stored, estimators, task, own))
        return _read(place, about)


def opened(folder: str | PathLike[str]) -> Comparison:
    """The comparison that a folder keeps.

    Raises:
        ValueError: if there is none, or nothing in it is done.
    """
    path = Path(folder) / _MANIFEST
    if not path.is_file():
        raise ValueError(f"{folder} has no {_MANIFEST}; {_EXPECTED}")
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        found = _read(Path(folder), about)
    except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} could not be read ({error!r}); {_EXPECTED}") from error
    if not (found.trials["status"] == "done").any():
        raise ValueError(f"nothing is done in {folder}; run `clgnn compare` to its end first")
    return found


def applicable(numbers: bool, test_labels: str, more_labels: bool = False) -> list[str]:
    """The methods that there are for a comparison.

    Args:
        numbers: whether labels are numbers and not classes.
        test_labels: see :func:`compare`.
        more_labels: whether there are observed labels beside those of training.

    Example:
        >>> applicable(True, "none")
        ['mean', 'ridge_regression', ..., 'gcn', 'gcn+cl', 'sage', 'sage+cl', 'tk', 'tk+cl']
    """
    if numbers:
        rivals = [name for name in REGRESSION if test_labels != "none" or name not in NEEDS_TEST_LABELS]
        return [*rivals, *(name for gnn in GNNS for name in (gnn, f"{gnn}+cl"))]
    left_out = set() if more_labels else set(TRAINS_ON_TEST_GRAPH)
    if test_labels == "none":
        left_out |= NEEDS_TEST_LABELS
    left_out |= set(REGRESSION) - set(TABULAR)
    hidden = ABLATIONS | ALL_LABELS | {"start-mean"}
    every = [name for name in methods() if name.partition("+")[2] not in hidden]
    quick = ["random", "majority", *TABULAR]  # they come first: a user soon sees what there is to beat
    return [name for name in [*quick, *(n for n in every if n not in quick)] if name not in left_out]


def _contenders(
    wanted: Methods | None, numbers: bool, split: splits.Split[Any], test_labels: str
) -> tuple[dict[str, Any], list[str]]:
    """The estimators that are the user's own, by name; and the names of all methods."""
    more = not _equal(split.train_mask, split.observed_mask)
    possible = applicable(numbers, test_labels, more)
    if wanted is None:
        return {}, possible
    own = dict(wanted) if isinstance(wanted, Mapping) else {}
    if not len(wanted):
        raise ValueError(f"methods is empty; expected some of {', '.join(possible)}")
    for name in wanted:
        if own.get(name) is not None:
            continue
        check(name)
        plain = base(name) or name
        if gnn_of(plain) is None and name not in possible:
            why = "numbers" if numbers else f"test_labels={test_labels!r} and these splits"
            raise ValueError(f"method is {name!r}, which is not for {why}; expected {', '.join(possible)}")
    return {name: value for name, value in own.items() if value is not None}, list(wanted)


def _equal(one: Any, other: Any) -> bool:
    pairs = zip(one, other, strict=True) if isinstance(one, list) else [(one, other)]
    return all(torch.equal(a, b) for a, b in pairs)


def _trial(
    cell: tuple[str, int, int, str], number: int, settings: Mapping[str, Any], own: Mapping[str, Any]
) -> Trial:
    if cell[3] in own:
        estimator = own[cell[3]]
        described = fingerprint(estimator.get_params(deep=True), [], type(estimator).__qualname__)
        return Trial(*cell, number, json.dumps({"estimator": described, **dict(sorted(settings.items()))}))
    given = {name: value for name, value in settings.items() if value is not None}
    trial = trial_of(cell, number, Config((({}, given),), {}))
    # the ledger of the paper's trials leaves out the paper's start; here it is named where it is meant
    start = {"start": "paper"} if settings.get("start") == "paper" else {}
    return replace(trial, settings=json.dumps({**json.loads(trial.settings), **start}, sort_keys=True))


def _claim(folder: Path, about: Mapping[str, Any]) -> None:
    """Writes what is compared; refuses a folder that holds a comparison of something else."""
    path = folder / _MANIFEST
    if path.exists():
        there = json.loads(path.read_text(encoding="utf-8"))
        for name in about:
            if there.get(name) != about[name]:
                said = (
                    f"{there.get(name)} there, {about[name]} now" if name != "data" else "the tables changed"
                )
                raise ValueError(f"{folder} holds another comparison ({name}: {said}); choose another folder")
        return
    if others(path):
        raise ValueError(f"{folder} has other files in it; choose a new folder, or an empty one")
    with written(path) as temporary:
        temporary.write_text(json.dumps(about, indent=1), encoding="utf-8")


def _read(folder: Path, about: Mapping[str, Any]) -> Comparison:
    kept = ("name", "metric", "lower_is_better", "task", "splits")
    trials = Ledger(folder).trials()
    return Comparison(trials=trials, **{name: about[name] for name in kept})


def _tensors(data: Graphs) -> Iterator[Tensor]:
    for graph in as_list(data):
        for _, value in sorted(graph.to_dict().items()):
            if isinstance(value, Tensor):
                yield value
