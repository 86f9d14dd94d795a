"""Runs trials, in parallel, and writes each to the ledger as it ends."""

from __future__ import annotations

import gc
import importlib.metadata
import json
import platform
import subprocess
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed, parallel_config
from torch import Tensor

from clgnn import datasets, relational, splits
from clgnn.estimator import CollectiveClassifier
from clgnn.experiments.ledger import Ledger
from clgnn.experiments.plan import Config, Trial, tuning
from clgnn.graph import Graphs, as_list, as_mask
from clgnn.metrics import CLASSIFICATION, LOWER_IS_BETTER, as_array, reliability

Cell = tuple[str, int, int, str]


@lru_cache(maxsize=2)
def _dataset(name: str) -> Graphs:
    return datasets.load(name)


def run_trial(trial: Trial) -> dict[str, Any]:
    """Fits, predicts and judges; the row for the ledger.

    The test nodes are looked at once, after everything was chosen on the validation nodes.
    """
    data = _dataset(trial.dataset)
    split = splits.paper(trial.dataset, trial.train_labels, trial.test_label_percent, trial.trial, data=data)
    sees_labels = trial.test_label_percent > 0
    shown: Any = split.val_observed_mask if sees_labels else None
    if trial.method in ("gnn_all_labels", "cl_all_labels") and not isinstance(split.train_mask, Tensor):
        pairs = zip(split.val_observed_mask, split.observed_mask, strict=True)
        shown = [a | b for a, b in pairs]  # graphs of their own: those to validate, and those to test
    model = trial.model()
    _reset_peak()
    began = time.perf_counter()
    model.fit(data, split.train_mask, split.val_mask, observed_mask=shown)
    fitted = time.perf_counter()
    stages = _stages(model, data, split.observed_mask if sees_labels else None)
    predicted = time.perf_counter()

    metric = getattr(model, "metric", None) or "accuracy"
    y = np.concatenate([graph.y.numpy() for graph in as_list(data)])
    position = {label: i for i, label in enumerate(model.classes_.tolist())}

    def judged(mask: Any, probabilities: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        nodes = as_mask(mask, data, "mask").numpy()
        return np.array([position[label] for label in y[nodes].tolist()]), probabilities[nodes]

    result = stages[model.best_iteration_ if isinstance(model, CollectiveClassifier) else 0]
    truth, given = judged(split.test_mask, result)
    return {
        "status": "done",
        "metrics": {name: measure(truth, given) for name, measure in CLASSIFICATION.items()},
        "validation": _validation(model, metric),
        "iterations": [CLASSIFICATION[metric](*judged(split.test_mask, stage)) for stage in stages]
        if len(stages) > 1
        else None,
        "reliability": reliability(truth, given),
        "predictions": result.argmax(axis=1).astype(np.uint8).tobytes() if trial.trial == 0 else None,
        "seconds": fitted - began,
        "predict_seconds": predicted - fitted,
        "peak_memory": _peak(),
    }


def _stages(model: relational.Rival, data: Graphs, observed: Any) -> list[np.ndarray[Any, Any]]:
    """The probabilities ``[N, C]`` after each iteration, of a method that has iterations."""
    if isinstance(model, relational.Relational):
        found = [model.predict_proba(data, observed)]
    else:
        found = list(model.staged_predict_proba(data, observed))
    return [as_array(p if isinstance(p, Tensor) else torch.cat(p)) for p in found]


def _validation(model: relational.Rival, metric: str) -> float | None:
    """The best value of the selection metric, in the iteration that predicts, if the method had to choose."""
    history, name = model.history_, f"val_{metric}"
    if name not in history or history.empty:
        return None
    if isinstance(model, CollectiveClassifier):
        history = history[history["iteration"] == model.best_iteration_]
    return float(history[name].min() if metric in LOWER_IS_BETTER else history[name].max())


def work(folder: str | PathLike[str], trial: Trial, role: str = "result", threads: int | None = None) -> bool:
    """Runs a trial, unless it is done or another process is at it, and writes it; whether it ran."""
    ledger = Ledger(folder)
    with ledger.claim(trial.key) as free:
        if not free:
            return False
        if threads is not None:
            torch.set_num_threads(threads)
        dataset, train_labels, percent, method = trial.cell
        row: dict[str, Any] = {
            "key": trial.key,
            "role": role,
            "dataset": dataset,
            "train_labels": train_labels,
            "test_label_percent": percent,
            "method": method,
            "trial": trial.trial,
            "settings": json.loads(trial.settings),
            "versions": versions(),
            "revision": revision(),
        }
        try:
            with parallel_config(backend="sequential"):  # a trial must not wait for workers that run trials
                row |= run_trial(trial)
        except Exception as error:  # one trial must not end the others; what it was stands in the ledger
            row |= {"status": "failed", "error": f"{error}\n{traceback.format_exc()}"}
        ledger.write({**row, "finished": datetime.now(UTC).isoformat(timespec="seconds")})
        gc.collect()
        return True


def run(
    planned: Sequence[Trial],
    folder: str | PathLike[str],
    jobs: int = 1,
    backend: str = "loky",
    role: str = "result",
) -> None:
    """Runs what is not done yet, several trials at a time.

    Args:
        planned: the trials.
        folder: of the ledger.
        jobs: processes; with more than one, each has one thread.
        backend: ``"loky"``, processes on this machine, or ``"ray"``, a Ray cluster that was connected to. All
            workers must see the folder.
        role: of the trials in the ledger.
    """
    done = Ledger(folder).finished()
    left = [trial for trial in planned if trial.key not in done]
    threads = 1 if jobs > 1 or backend == "ray" else None
    options = {"inner_max_num_threads": 1} if backend == "loky" and jobs > 1 else {}
    with parallel_config(backend=backend if jobs > 1 or backend == "ray" else "sequential", **options):
        # one at a time: trials take seconds to hours, and none should wait behind another in a batch
        parallel = Parallel(n_jobs=jobs, batch_size=1, pre_dispatch="all" if backend == "ray" else jobs)
        with warnings.catch_warnings():  # a worker whose memory has grown is replaced; no trial is lost
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
            parallel(delayed(work)(folder, trial, role, threads) for trial in left)


def tuned(
    chosen: Sequence[Cell], config: Config, folder: str | PathLike[str]
) -> Mapping[Cell, dict[str, Any]]:
    """For each cell of a GNN, the point of the grid with the best validation metric in the ledger."""
    ledger = Ledger(folder)
    known = {
        row["key"]: row["validation"]
        for role in ("result", "other")
        for row in ledger.trials(role).to_dict("records")
        if row["status"] == "done"
    }
    best: dict[Cell, tuple[float, dict[str, Any]]] = {}
    for cell, point, searched in tuning(chosen, config):
        values = [known.get(trial.key) for trial in searched]
        found = [value for value in values if value is not None]
        if len(found) < len(searched):
            continue
        metric = json.loads(searched[0].settings).get("metric") or "accuracy"
        score = float(np.mean(found)) * (-1 if metric in LOWER_IS_BETTER else 1)
        if cell not in best or score > best[cell][0]:
            best[cell] = score, point
    return {cell: point for cell, (_, point) in best.items()}


@lru_cache
def versions() -> dict[str, str]:
    names = ("clgnn", "torch", "torch_geometric", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in names}


@lru_cache
def revision() -> str | None:
    """The git revision of this source, with a + if it was changed since; None outside of a checkout."""
    here = Path(__file__).parent
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"],
            cwd=here, capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.strip()


def _reset_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak starts anew


def _peak() -> float | None:
    """MiB, the most that this process had at a time since the reset."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def tuned_text(best: Mapping[Cell, Mapping[str, Any]]) -> str:
    """Rules that set what tuning chose, to be appended to a configuration."""
    names = ("dataset", "train_labels", "test_label_percent", "method")

    def table(values: Mapping[str, Any]) -> str:
        return "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items()) + " }"

    rules = [
        f"[[rule]]\nfor = {table(dict(zip(names, cell, strict=True)))}\nset = {table(point)}\n"
        for cell, point in best.items()
    ]
    return "\n".join(["# Chosen on the validation nodes of splits of their own.", *rules])
