"""Runs trials, several at a time, and writes each to the ledger when it ends."""

from __future__ import annotations

import gc
import json
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from joblib import Parallel, delayed, parallel_config
from torch import Tensor

from clgnn.data import datasets, splits
from clgnn.data.graph import Graphs, Mask, as_mask, known, visible_labels
from clgnn.estimators.labelling import Classes, measure
from clgnn.estimators.metrics import as_array, reliability
from clgnn.estimators.node import NodeEstimator, OnEpoch, ignore
from clgnn.experiments.ledger import Ledger, now
from clgnn.experiments.methods import CELL
from clgnn.experiments.plan import Trial
from clgnn.experiments.provenance import peak_memory, reset_peak_memory, revision, versions
from clgnn.experiments.workers import elsewhere, workers


@lru_cache(maxsize=2)
def _dataset(name: str) -> Graphs:
    return datasets.load(name)


def fit(
    model: NodeEstimator,
    data: Graphs,
    split: splits.Split[Any],
    sees_labels: bool,
    on_epoch: OnEpoch = ignore,
) -> Mask | None:
    """Fits a model to a split, as every comparison does.

    Args:
        model: any estimator; it is fitted in place.
        data: the graph, or the graphs.
        split: which nodes play which part.
        sees_labels: whether the observed labels of the split are shown.
        on_epoch: is called after every epoch.

    Returns:
        The labels that the model may see when it predicts the test nodes; None if they are not shown.
    """
    shown: Any = split.val_observed_mask if sees_labels else None
    if sees_labels and model.trains_on_observed and not isinstance(split.train_mask, Tensor):
        # validation and test graphs have labels of their own; this method trains on all of them
        pairs = zip(split.val_observed_mask, split.observed_mask, strict=True)
        shown = [one | other for one, other in pairs]
    model.fit(data, split.train_mask, split.val_mask, observed_mask=shown, on_epoch=on_epoch)
    return split.observed_mask if sees_labels else None


Ground = tuple[Graphs, splits.Split[Any], NodeEstimator]
"""What a trial stands on: the data, the split, and the model to be fitted."""
Prepare = Callable[[Trial], Ground]


def of_the_paper(trial: Trial) -> Ground:
    """A dataset of the paper, its split with the number of the trial, and the method."""
    data = _dataset(trial.dataset)
    split = splits.paper(trial.dataset, trial.train_labels, trial.test_label_percent, trial.trial, data=data)
    return data, split, trial.model()


def run_trial(trial: Trial, prepare: Prepare = of_the_paper) -> dict[str, Any]:
    """Fits, predicts and judges; the row for the ledger.

    The test nodes are judged once, after everything was chosen on the validation nodes.
    """
    data, split, model = prepare(trial)
    reset_peak_memory()
    began = time.perf_counter()
    observed = fit(model, data, split, sees_labels=trial.test_label_percent > 0)
    fitted = time.perf_counter()
    found = list(model.staged_predict_proba(data, observed))
    predicted = time.perf_counter()

    stages = [p if isinstance(p, Tensor) else torch.cat(p) for p in found]
    labels = model.labelling_
    y = labels.encode(visible_labels(data, as_mask(split.test_mask, data, "test_mask")), "test_mask")
    judged = known(y)
    own = [] if model.metric is None else [model.metric]
    metrics = [labels.metric(one) for one in dict.fromkeys([*labels.metrics, *own])]
    chosen = labels.metric(model.metric or labels.default_metric)
    scores = [measure(labels, chosen, y[judged], stage[judged]) for stage in stages]
    result, classes = stages[model.best_iteration_], isinstance(labels, Classes)
    truth, of_test = as_array(y[judged]), as_array(result[judged])
    return {
        "status": "done",
        "metrics": {one.name: measure(labels, one, y[judged], result[judged]) for one in metrics},
        "validation": model.best_score_,
        "iterations": scores if len(stages) > 1 else None,
        "reliability": reliability(truth, of_test) if classes else None,
        "predictions": _coded(result) if classes and trial.trial == 0 else None,
        "seconds": fitted - began,
        "predict_seconds": predicted - fitted,
        "peak_memory": peak_memory(),
    }


def _coded(probabilities: Tensor) -> bytes | None:
    """The predicted class of each node, one byte for each; None for more classes than a byte can tell."""
    if probabilities.size(1) > 256:
        return None
    return probabilities.argmax(dim=1).to(torch.uint8).numpy().tobytes()


def work(
    folder: str | PathLike[str],
    trial: Trial,
    role: str = "result",
    threads: int | None = None,
    prepare: Prepare = of_the_paper,
) -> bool:
    """Runs a trial and writes it to the ledger, unless it is done or another process runs it.

    Returns:
        Whether this call ran the trial.
    """
    ledger = Ledger(folder)
    with ledger.claim(trial.key) as free:
        if not free:
            return False
        if threads is not None:
            torch.set_num_threads(threads)
        row: dict[str, Any] = {
            "key": trial.key,
            "role": role,
            **dict(zip(CELL, trial.cell, strict=True)),
            "trial": trial.trial,
            "settings": json.loads(trial.settings),
            "versions": versions(),
            "revision": revision(),
        }
        try:
            with parallel_config(backend="sequential"):  # a trial must not wait for workers that run trials
                row |= run_trial(trial, prepare)
        except Exception as error:  # one trial must not end the others; the ledger says what went wrong
            row |= {"status": "failed", "error": f"{error}\n{traceback.format_exc()}"}
        ledger.write({**row, "finished": now()})
        gc.collect()
        return True


def run(
    planned: Sequence[Trial],
    folder: str | PathLike[str],
    jobs: int = 1,
    backend: str = "loky",
    role: str = "result",
    prepare: Prepare = of_the_paper,
) -> None:
    """Runs the trials that are not done yet, several at a time.

    Args:
        planned: the trials.
        folder: the folder of the ledger.
        jobs: how many trials run at a time, each in a process; with more than one, each has one thread.
        backend: one of :data:`~clgnn.experiments.workers.BACKENDS`, which
            :func:`~clgnn.experiments.workers.connect` got ready; its workers must see the folder.
        role: the role of the trials in the ledger.
        prepare: what each trial stands on; by default a dataset of the paper.
    """
    place = Path(folder).absolute()  # a worker may be somewhere else
    done = Ledger(place).finished()
    left = [trial for trial in planned if trial.key not in done]
    threads = 1 if elsewhere(jobs, backend) else None
    with workers(jobs, backend):
        # one at a time: trials take seconds to hours, and none should wait behind another in a batch
        parallel = Parallel(n_jobs=jobs, batch_size=1, pre_dispatch="all" if backend == "ray" else jobs)
        with warnings.catch_warnings():  # a worker whose memory has grown is replaced; no trial is lost
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
            parallel(delayed(work)(place, trial, role, threads, prepare) for trial in left)
