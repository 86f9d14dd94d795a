"""The paper's experiments from beginning to end: choose settings, run the trials, say what became of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clgnn.data import datasets
from clgnn.estimators.metrics import LOWER_IS_BETTER
from clgnn.experiments import run as running
from clgnn.experiments.ledger import Ledger
from clgnn.experiments.methods import CELL, Cell
from clgnn.experiments.plan import (
    Config,
    Trial,
    cells,
    config_text,
    number_of_trials,
    read_config,
    trials,
    tuning,
)
from clgnn.experiments.workers import connect
from clgnn.files import written

Watch = Callable[[str, Sequence[Trial]], AbstractContextManager[object]]
"""Is entered while trials run: it gets a name for them, and the trials."""


@dataclass(frozen=True)
class Outcome:
    """What became of the planned trials.

    Attributes:
        planned: the trials that were asked for.
        trials: all results in the ledger, one row per trial.
        not_tuned: the rows of those trials that failed while settings were searched.
    """

    planned: list[Trial]
    trials: pd.DataFrame
    not_tuned: pd.DataFrame

    @property
    def done(self) -> int:
        """How many of the planned trials are done."""
        return len(_of(self.trials, self.planned, "done"))

    @property
    def failed(self) -> pd.DataFrame:
        """The rows of the planned trials that failed."""
        return _of(self.trials, self.planned, "failed")


def reproduce(
    experiment: str,
    folder: str | PathLike[str],
    *,
    only: Sequence[str] = (),
    methods: Sequence[str] = (),
    number: int | None = None,
    config: str | PathLike[str] | None = None,
    quick: bool = False,
    tune: bool = False,
    exported: str | PathLike[str] | None = None,
    jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    watch: Watch = lambda name, planned: nullcontext(),
) -> Outcome:
    """Runs an experiment of the paper; what is done in the folder's ledger is not run again.

    Args:
        experiment: one of :data:`~clgnn.experiments.plan.EXPERIMENTS`, or ``"all"``.
        folder: the place of the ledger, of its export ``trials.csv`` and, with ``tune``, of ``tuned.toml``.
        only, methods: some of the datasets and methods; all by default.
        number: how many trials of each cell; by default 2 with ``quick``, else as many as the paper has.
        config: a TOML file of settings; by default the paper's.
        quick: cuts every fit down to seconds.
        tune: searches the grid of the settings first, on the validation nodes of other splits.
        exported: a ``trials.csv`` of another ledger, whose trials are taken in first.
        jobs, backend: see :func:`clgnn.experiments.run.run`.
        address: of a Ray cluster; see :func:`clgnn.experiments.workers.connect`.
        watch: is entered while the trials of a name run, to show progress.

    Raises:
        ValueError: if there is no such experiment, dataset, method or setting.
    """
    wanted = cells(experiment, only, methods)
    settings = read_config(config, quick)
    for name in dict.fromkeys(cell[0] for cell in wanted):
        datasets.load(name)  # it is fetched once, and an error shows now rather than in every trial
    connect(backend, address)
    ledger = Ledger(folder)
    if exported is not None:
        ledger.restore(exported)
    best: dict[Cell, dict[str, Any]] = {}
    searched: list[Trial] = []
    if tune:
        searched = [trial for _, _, some in tuning(wanted, settings) for trial in some]
        with watch("tuning", searched):
            running.run(searched, folder, jobs, backend, role="other")
        best = tuned(wanted, settings, ledger)
        _write_tuned(Path(folder), config, best)
    each = number or (2 if quick else None)
    planned = trials({cell: each or number_of_trials(experiment, cell) for cell in wanted}, settings, best)
    ledger.assign((trial.key, trial.cell, trial.settings) for trial in planned)
    with watch(experiment, planned):
        running.run(planned, folder, jobs, backend)
    outcome = Outcome(planned, ledger.trials(), _of(ledger.trials("other"), searched, "failed"))
    if (outcome.trials["status"] == "done").any():
        ledger.export(Path(folder) / "trials.csv")
    return outcome


def tuned(chosen: Sequence[Cell], config: Config, ledger: Ledger) -> dict[Cell, dict[str, Any]]:
    """For each cell of a GNN, the point of the grid with the best mean validation metric in the ledger.

    A point counts if all of its trials are done; a cell without such a point is left out.
    """
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


def tuned_text(best: Mapping[Cell, Mapping[str, Any]]) -> str:
    """TOML rules that set what tuning chose, to be appended to a configuration.

    Example:
        >>> print(tuned_text({("cora", 85, 0, "gcn"): {"lr": 0.05}}))
        # Chosen on the validation nodes of splits that no result comes from.
        [[rule]]
        for = { dataset = "cora", train_labels = 85, test_label_percent = 0, method = "gcn" }
        set = { lr = 0.05 }
        <BLANKLINE>
    """

    def table(values: Mapping[str, Any]) -> str:
        return "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items()) + " }"

    rules = [
        f"[[rule]]\nfor = {table(dict(zip(CELL, cell, strict=True)))}\nset = {table(point)}\n"
        for cell, point in best.items()
    ]
    return "\n".join(["# Chosen on the validation nodes of splits that no result comes from.", *rules])


def _write_tuned(
    folder: Path, config: str | PathLike[str] | None, best: Mapping[Cell, Mapping[str, Any]]
) -> None:
    """Writes ``tuned.toml``: the configuration, and what tuning chose over it."""
    text = config_text() if config is None else Path(config).read_text(encoding="utf-8")
    with written(folder / "tuned.toml") as temporary:
        temporary.write_text(f"{text}\n{tuned_text(best)}", encoding="utf-8")


def _of(found: pd.DataFrame, planned: Sequence[Trial], status: str) -> pd.DataFrame:
    """The rows of planned trials that have a status."""
    return found[(found["status"] == status) & found["key"].isin({trial.key for trial in planned})]
