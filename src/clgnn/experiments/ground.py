"""What the trials of a comparison stand on: the data, the split and the model, in every process."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from sklearn.base import clone
from torch import Tensor
from torch_geometric.data import Data

from clgnn import baselines
from clgnn.data import splits
from clgnn.data.graph import Graphs, as_list, known
from clgnn.data.parts import stratified
from clgnn.estimators.checkpoints import fingerprint
from clgnn.estimators.collective import CollectiveClassifier, CollectiveRegressor
from clgnn.estimators.node import NodeEstimator
from clgnn.experiments import run as running
from clgnn.experiments.methods import gnn_of
from clgnn.experiments.plan import Trial
from clgnn.files import written

NUM_SPLITS = 10
KINDS = ("random", "connected", "graphs")
"""How labels are split: stratified at random, in connected patches, or by whole graphs."""


def draw(
    data: Graphs,
    kind: str | Sequence[splits.Split[Any]],
    number: int | None,
    shares: Mapping[str, Any],
    test_labels: str,
) -> list[splits.Split[Any]]:
    """As many splits as asked for; one's own come again, with other seeds, if they are too few."""
    if not isinstance(kind, str):
        return [kind[i % len(kind)] for i in range(number or len(kind))]
    return [_split(data, kind, seed, test_labels, **shares) for seed in range(number or NUM_SPLITS)]


def _split(
    data: Graphs,
    kind: str,
    seed: int,
    test_labels: str,
    test_share: float,
    val_share: float,
    train_labels: int | None,
) -> splits.Split[Any]:
    if kind == "random":
        return stratified(data, test_share, val_share, seed, train_labels)
    if kind == "connected":
        if not isinstance(data, Data):
            raise ValueError("split is 'connected', which is for one graph; expected 'random' or 'graphs'")
        total = int(known(data.y).sum())
        test, val = round(test_share * total), round(val_share * total)
        made = splits.connected(data, train_labels or total - test - val, 0, test, val, seed)
        return replace(made, observed_mask=made.train_mask, val_observed_mask=made.train_mask)
    if kind == "graphs":
        if isinstance(data, Data) or train_labels is not None:
            raise ValueError(
                "split is 'graphs', which is for a list of graphs, all of whose training labels are learned "
                "from; expected 'random' for one graph, or for a number of train_labels"
            )
        shown = 0.5 if test_labels == "partial" else 0.0
        return splits.graphs(as_list(data), 1 - test_share - val_share, val_share, 1.0, shown, seed)
    raise ValueError(f"split is {kind!r}; expected {', '.join(KINDS)}, or splits of your own")


def described(
    kind: str | Sequence[Any], shares: Mapping[str, Any], test_labels: str, made: Sequence[splits.Split[Any]]
) -> dict[str, Any]:
    """How the labels are split, for the folder of a comparison."""
    if isinstance(kind, str):
        return {"kind": kind, **shares, "test_labels": test_labels}
    masks = [mask for split in made for mask in vars(split).values()]
    parts = [part for mask in masks for part in (mask if isinstance(mask, list) else [mask])]
    return {"kind": "given", "masks": fingerprint({}, parts)[:16], "test_labels": test_labels}


def make(method: str, settings: Mapping[str, Any], task: str, seed: int = 0) -> NodeEstimator:
    """A new model of a method."""
    given = {**settings, "seed": seed}
    if gnn_of(method) is None:
        return baselines.make(method, numbers=task == "regression", **given)
    if task == "regression":
        return CollectiveRegressor(**{k: v for k, v in given.items() if k != "class_weight"})
    return CollectiveClassifier(**given)


@dataclass(frozen=True)
class Ground:
    """What a trial stands on. The data are at hand, or in a file that other processes read."""

    stored: Any
    own: Mapping[str, Any]
    task: str
    metric: Callable[..., float] | None

    def __call__(self, trial: Trial) -> running.Ground:
        data, made = loaded(self.stored)
        split = made[trial.trial]
        if trial.method in self.own:
            model = _own(self.own[trial.method], json.loads(trial.settings), trial.trial)
        else:
            settings = json.loads(trial.settings)
            if self.metric is not None:
                settings["metric"] = self.metric
            model = make(trial.method, settings, self.task, trial.trial)
        return data, split, model


def _own(estimator: Any, settings: Mapping[str, Any], seed: int) -> NodeEstimator:
    """A copy of a user's estimator, with the seed of the split and the scenario of the comparison."""
    if not isinstance(estimator, NodeEstimator):
        return baselines.as_estimator(estimator, test_labels=settings["test_labels"], seed=seed)
    model: NodeEstimator = clone(estimator)
    shared = {"seed": seed, "test_labels": settings["test_labels"]}
    model.set_params(**{k: v for k, v in shared.items() if k in model.get_params(deep=False)})
    return model


@contextmanager
def kept(folder: str | PathLike[str] | None) -> Iterator[Path]:
    """A folder of the user's, or one that is gone at the end."""
    if folder is not None:
        yield Path(folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        yield Path(temporary)


@contextmanager
def shared(data: Graphs, made: list[splits.Split[Any]], folder: Path, elsewhere: bool) -> Iterator[Any]:
    """The data and the splits for this process; for trials elsewhere, a file that all map into memory.

    What it gives is for :func:`loaded`.
    """
    if not elsewhere:
        yield data, made
        return
    path = folder.absolute() / "running" / "data.pt"
    graphs = [{k: v for k, v in g.to_dict().items() if isinstance(v, Tensor)} for g in as_list(data)]
    with written(path) as temporary:
        torch.save([isinstance(data, Data), graphs, [vars(split) for split in made]], temporary)
    try:
        yield str(path)
    finally:
        path.unlink(missing_ok=True)


def loaded(stored: Any) -> tuple[Graphs, list[splits.Split[Any]]]:
    """The data and the splits that :func:`shared` gives to a process."""
    if not isinstance(stored, str):
        data, made = stored
        return data, made
    return _load(stored)


@lru_cache(maxsize=1)
def _load(path: str) -> tuple[Graphs, list[splits.Split[Any]]]:
    single, graphs, made = torch.load(path, weights_only=True, mmap=True)
    found = [Data.from_dict(graph) for graph in graphs]
    return found[0] if single else found, [splits.Split(**masks) for masks in made]
