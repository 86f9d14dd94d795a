"""A search for settings on the validation labels, by Optuna (``pip install "clgnn[tune]"``)."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import torch
from filelock import FileLock
from joblib import Parallel, delayed

from clgnn.collective.learning import Diverged
from clgnn.data.graph import Graphs, Mask, as_list, as_mask, by_graph
from clgnn.data.splits import Split
from clgnn.estimators.callbacks import OptunaPruning
from clgnn.estimators.checkpoints import fingerprint
from clgnn.estimators.collective import CollectiveClassifier, CollectiveRegressor
from clgnn.estimators.settings import LOWER_IS_BETTER, as_plain
from clgnn.experiments.ground import kept, loaded, shared
from clgnn.experiments.workers import connect, elsewhere, workers
from clgnn.files import others, written

try:
    import optuna
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
        distribution_to_json,
    )
    from optuna.storages.journal import JournalFileBackend, JournalStorage
except ImportError as error:
    raise ValueError('tuning needs Optuna, which is not installed; run pip install "clgnn[tune]"') from error

_ABOUT, _STUDY, _SETTINGS = "tuning.json", "study.log", "settings.toml"
_DONE = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)


def space(
    boosted: bool = True, test_labels: str = "none", numbers: bool = False
) -> dict[str, BaseDistribution]:
    """What is searched by default: the GNN and its training; for a boosted one, collective learning as well.

    Example:
        >>> sorted(set(space()) - set(space(boosted=False)))
        ['num_iterations', 'num_samples', 'start']
    """
    found: dict[str, BaseDistribution] = {
        "gnn": CategoricalDistribution(("gcn", "sage", "gin")),
        "hidden_channels": IntDistribution(8, 128, log=True),
        "num_layers": IntDistribution(2, 4),
        "dropout": FloatDistribution(0.0, 0.8),
        "lr": FloatDistribution(1e-3, 0.1, log=True),
        "weight_decay": FloatDistribution(1e-6, 1e-2, log=True),
    }
    if boosted:
        found |= {
            "num_samples": CategoricalDistribution((5, 10, 20)),
            "num_iterations": IntDistribution(1, 4),
        }
        if not numbers:
            found["start"] = CategoricalDistribution(("plain", "auto"))
        if test_labels == "partial":
            found["shown_share"] = FloatDistribution(0.1, 0.9)
    return found


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a search found.

    Attributes:
        settings: the best settings, with those that were fixed.
        score: their validation metric.
        metric: its name.
        study: Optuna's, with every trial.
    """

    settings: dict[str, Any]
    score: float
    metric: str
    study: optuna.Study

    @property
    def trials(self) -> pd.DataFrame:
        """One row per trial: ``number``, ``state``, the ``metric``, ``seconds``, and the settings."""
        rows = [
            {
                "number": trial.number,
                "state": trial.state.name.lower(),
                self.metric: trial.value if trial.value is not None else float("nan"),
                "seconds": 0.0 if trial.duration is None else trial.duration.total_seconds(),
                **trial.params,
            }
            for trial in self.study.trials
        ]
        return pd.DataFrame(rows)


def tune(
    data: Graphs,
    train_mask: Mask,
    val_mask: Mask,
    *,
    observed_mask: Mask | None = None,
    num_trials: int = 50,
    boosted: bool = True,
    space: Mapping[str, BaseDistribution] | None = None,
    settings: Mapping[str, Any] | None = None,
    folder: str | PathLike[str] | None = None,
    jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    seed: int = 0,
    watch: Callable[[optuna.Study, int], AbstractContextManager[object]] = lambda study, n: nullcontext(),
) -> Tuned:
    """Searches for the settings with the best validation metric.

    Trials that fall behind the median of the others are pruned. A plain GNN has the epochs of all stages of
    its boosted self, so that both can be tuned with the same budget.

    Args:
        data: a graph, or a list of graphs.
        train_mask, val_mask, observed_mask: as for ``fit``; the validation labels choose.
        num_trials: how many settings are tried.
        boosted: whether collective learning is tuned, or the plain GNN.
        space: distributions of Optuna, by the name of a setting; by default those of :func:`space`.
        settings: those that are fixed.
        folder: keeps every trial, so that the same call goes on after a stop; by default nothing is kept.
        jobs: how many trials run at a time, each in a process of its own. With one, the same seed gives the
            same search, interrupted or not.
        backend: ``"loky"`` for processes of this machine, or ``"ray"`` for those of a Ray cluster, which must
            see the folder.
        address: of a Ray cluster; without one, a cluster is started on this machine.
        seed: of the search and of the models.
        watch: is entered while the trials run, to show progress.

    Raises:
        ValueError: if the folder holds another search, or no trial came to an end.

    Example:
        >>> from clgnn import datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.random(data, train_labels=60, test_nodes=100, val_nodes=50)
        >>> few = {"hidden_channels": IntDistribution(2, 8)}
        >>> found = tune(data, split.train_mask, split.val_mask, num_trials=2, space=few,
        ...              settings={"max_epochs": 5, "num_iterations": 1, "num_samples": 2})
        >>> len(found.trials), 2 <= found.settings["hidden_channels"] <= 8
        (2, True)
    """
    connect(backend, address)
    fixed = dict(settings or {})
    numbers = as_list(data)[0].y.is_floating_point()
    searched = dict(space or globals()["space"](boosted, fixed.get("test_labels", "none"), numbers))
    searched = {name: over for name, over in searched.items() if name not in fixed}
    model = _model(data, boosted, fixed, {}, seed)
    lower = model.metric_name in LOWER_IS_BETTER
    task = _Task(boosted, fixed, searched, seed)
    given = {"train_mask": train_mask, "val_mask": val_mask, "observed_mask": observed_mask}
    train, val, seen = (None if m is None else by_graph(as_mask(m, data, n), data) for n, m in given.items())
    split: Split[Any] = Split(train, seen, val, val, seen)
    about = {
        "format": 1,
        "metric": model.metric_name,
        "boosted": boosted,
        "seed": seed,
        "fixed": {name: repr(value) for name, value in sorted(fixed.items())},
        "space": {name: distribution_to_json(over) for name, over in sorted(searched.items())},
        "data": _fingerprint(data, split),
    }
    with kept(folder) as place, ExitStack() as stack:
        _claim(place, about)
        source = stack.enter_context(shared(data, [split], place, elsewhere(jobs, backend)))
        study = _study(place, "minimize" if lower else "maximize")
        _end_killed(study)
        with watch(study, num_trials):
            _search(place.absolute(), num_trials, jobs, backend, task, source)
        return _found(place, study, fixed, boosted, model.metric_name)


@dataclass(frozen=True)
class _Task:
    """What every trial needs to know."""

    boosted: bool
    fixed: dict[str, Any]
    space: dict[str, BaseDistribution]
    seed: int


def _search(place: Path, number: int, jobs: int, backend: str, task: _Task, source: Any) -> None:
    """Runs trials until so many are done, in one process or several."""
    with workers(jobs, backend):
        Parallel(n_jobs=jobs)(delayed(_work)(str(place), number, task, source) for _ in range(jobs))


def _work(place: str, number: int, task: _Task, source: Any) -> None:
    data, (split,) = loaded(source)
    while True:
        study = _study(Path(place))
        ended = [trial for trial in study.trials if trial.state in _DONE]
        running = [t for t in study.trials if t.state == optuna.trial.TrialState.RUNNING]
        if len(ended) + len(running) >= number:
            return
        # Of trials that ended, so that an interrupted search goes on as if it had not been.
        study.sampler = optuna.samplers.TPESampler(seed=task.seed + len(ended) + len(running))
        trial = study.ask(task.space)
        model = _model(data, task.boosted, task.fixed, trial.params, task.seed)
        try:
            seen = split.observed_mask
            model.fit(
                data, split.train_mask, split.val_mask, observed_mask=seen, callbacks=[OptunaPruning(trial)]
            )
        except (optuna.TrialPruned, Diverged):  # too far behind, or training leads nowhere
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            continue
        except BaseException:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            raise
        study.tell(trial, model.best_score_)


def _model(data: Graphs, boosted: bool, fixed: Mapping[str, Any], found: Mapping[str, Any], seed: int) -> Any:
    given = {"seed": seed, **fixed, **found}
    if not boosted:
        given = as_plain(given)
    numbers = as_list(data)[0].y.is_floating_point()
    return CollectiveRegressor(**given) if numbers else CollectiveClassifier(**given)


class _Lock:
    """A lock of the operating system: it ends with the process that holds it, even by ``kill -9``."""

    def __init__(self, path: str) -> None:
        self._lock = FileLock(path)

    def acquire(self) -> bool:
        self._lock.acquire()
        return True

    def release(self) -> None:
        self._lock.release()


def _study(place: Path, direction: Literal["minimize", "maximize"] | None = None) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path = str(place / _STUDY)
    storage = JournalStorage(JournalFileBackend(path, lock_obj=_Lock(f"{path}.lock")))  # type: ignore[arg-type]
    pruner = optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=50)
    if direction is None:
        return optuna.load_study(study_name="clgnn", storage=storage, pruner=pruner)
    return optuna.create_study(
        study_name="clgnn", storage=storage, pruner=pruner, direction=direction, load_if_exists=True
    )


def _end_killed(study: optuna.Study) -> None:
    """Ends the trials that a kill has left running; the sampler draws the same settings anew."""
    for trial in study.trials:
        if trial.state == optuna.trial.TrialState.RUNNING:
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)


def _claim(place: Path, about: Mapping[str, Any]) -> None:
    path = place / _ABOUT
    if path.exists():
        there = json.loads(path.read_text(encoding="utf-8"))
        for name in about:
            if there.get(name) != about[name]:
                raise ValueError(f"{place} holds another search (its {name} differs); choose another folder")
        return
    if any(one.name != "running" for one in others(path)):
        raise ValueError(f"{place} has other files in it; choose a new folder, or an empty one")
    with written(path) as temporary:
        temporary.write_text(json.dumps(about, indent=1), encoding="utf-8")


def _found(place: Path, study: optuna.Study, fixed: dict[str, Any], boosted: bool, metric: str) -> Tuned:
    done = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.COMPLETE]
    if not done:
        raise ValueError(f"all {len(study.trials)} trials were pruned; expected one that ends: try more")
    best = study.best_trial
    chosen = {**fixed, **best.params}
    if not boosted:
        chosen = as_plain(chosen)
    assert best.value is not None
    with written(place / _SETTINGS) as temporary:
        temporary.write_text(settings_text(chosen, metric, best.value), encoding="utf-8")
    # the study must outlive a temporary folder; trials that were interrupted have been run again
    copied = optuna.create_study(direction=study.direction)
    copied.add_trials([trial for trial in study.trials if trial.state in _DONE])
    return Tuned(chosen, float(best.value), metric, copied)


def settings_text(settings: Mapping[str, Any], metric: str, score: float) -> str:
    """A TOML file of settings, for ``clgnn fit --config``.

    Example:
        >>> print(settings_text({"gnn": "sage", "lr": 0.05}, "accuracy", 0.9))
        # Found by a search: accuracy 0.9000 on the validation labels.
        gnn = "sage"
        lr = 0.05
        <BLANKLINE>
    """
    plain = {name: value for name, value in settings.items() if isinstance(value, str | int | float | list)}
    lines = [f"{name} = {json.dumps(value)}" for name, value in sorted(plain.items())]
    return "\n".join([f"# Found by a search: {metric} {score:.4f} on the validation labels.", *lines, ""])


def read_settings(path: str | PathLike[str]) -> dict[str, Any]:
    """The settings of a TOML file that :func:`settings_text` wrote, or one like it."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML ({error}); expected lines such as lr = 0.05") from error


def _fingerprint(data: Graphs, split: Split[Any]) -> str:
    tensors = [g[name] for g in as_list(data) for name in sorted(g.to_dict()) if torch.is_tensor(g[name])]
    for mask in (split.train_mask, split.val_mask, split.observed_mask):
        tensors += mask if isinstance(mask, list) else [mask]
    return fingerprint({}, tensors)
