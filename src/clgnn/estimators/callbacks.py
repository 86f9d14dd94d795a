"""What may watch a fit and end it: one's own callbacks, and ready ones for a CSV log, TensorBoard and Optuna.

Example:
    >>> from clgnn import CollectiveClassifier, datasets
    >>> class FirstEpochs(Callback):
    ...     def after_epoch(self, model, epoch):
    ...         return epoch.epoch == 2  # True ends the fit
    >>> data = datasets.load("citations", num_nodes=300)
    >>> model = CollectiveClassifier(num_iterations=1, max_epochs=20)
    >>> len(model.fit(data, range(60), callbacks=[FirstEpochs()]).history_)
    3
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clgnn.collective.learning import Epoch, Iteration

if TYPE_CHECKING:
    from clgnn.estimators.recursion import Collective


class Callback:
    """Sees every epoch and every iteration of a fit. Methods that are not of interest can be left out.

    A method that returns True ends the fit: the iteration ends as if its patience were over, with the weights
    of its best epoch, and no further iteration begins.
    """

    def before_fit(self, model: Collective) -> None:
        """Called once, when the data have been checked."""

    def after_epoch(self, model: Collective, epoch: Epoch) -> bool | None:
        """Called after every epoch: its ``iteration``, ``epoch``, ``loss``, ``metric`` and ``seconds``.

        ``metric`` is that of the validation nodes; NaN in epochs that are not validated.
        """

    def after_iteration(self, model: Collective, iteration: Iteration) -> bool | None:
        """Called after every iteration, with its ``component``, Θ_t, W and b, and its ``epochs``."""

    def after_fit(self, model: Collective) -> None:
        """Called once, when the model can predict."""


class Callbacks:
    """Several callbacks as one, and whether any of them has ended the fit.

    Args:
        model: the estimator that is fitted.
        callbacks: callbacks, or functions of an :class:`~clgnn.collective.learning.Epoch`.
    """

    def __init__(self, model: Collective, callbacks: Sequence[Callback | Callable[[Epoch], Any]]) -> None:
        for one in callbacks:
            if not isinstance(one, Callback) and not callable(one):
                raise ValueError(
                    f"a callback is {one!r}; expected a clgnn.callbacks.Callback, or a function of an epoch"
                )
        self.model, self.callbacks, self.stopped = model, callbacks, False

    def before_fit(self) -> None:
        for one in self.callbacks:
            if isinstance(one, Callback):
                one.before_fit(self.model)

    def after_epoch(self, epoch: Epoch) -> bool:
        for one in self.callbacks:
            said = one.after_epoch(self.model, epoch) if isinstance(one, Callback) else one(epoch)
            self.stopped |= said is True
        return self.stopped

    def after_iteration(self, iteration: Iteration) -> bool:
        for one in self.callbacks:
            if isinstance(one, Callback):
                self.stopped |= one.after_iteration(self.model, iteration) is True
        return self.stopped

    def after_fit(self) -> None:
        for one in self.callbacks:
            if isinstance(one, Callback):
                one.after_fit(self.model)


class CSVLog(Callback):
    """Writes one row per epoch to a CSV file as the fit goes on, so that others can read along.

    Args:
        path: the file, a new one.

    Example:
        >>> import tempfile
        >>> from clgnn import CollectiveClassifier, datasets
        >>> path = Path(tempfile.mkdtemp()) / "log.csv"
        >>> data = datasets.load("citations", num_nodes=300)
        >>> model = CollectiveClassifier(num_iterations=0, max_epochs=2)
        >>> _ = model.fit(data, range(60), callbacks=[CSVLog(path)])
        >>> path.read_text().splitlines()[0]
        'iteration,epoch,loss,metric,seconds'
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)

    def before_fit(self, model: Collective) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("x", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(part.name for part in fields(Epoch))

    def after_epoch(self, model: Collective, epoch: Epoch) -> None:
        values = ["" if value != value else value for value in asdict(epoch).values()]
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(values)


class TensorBoard(Callback):
    """Writes loss and validation metric to a folder that TensorBoard shows (``pip install tensorboard``).

    Each iteration is a run of its own, so that their curves lie over one another.

    Args:
        folder: for the event files.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self.writers: dict[int, Any] = {}

    def before_fit(self, model: Collective) -> None:
        self._writer(0)  # whether TensorBoard is there, before anything is trained

    def after_epoch(self, model: Collective, epoch: Epoch) -> None:
        writer = self._writer(epoch.iteration)
        writer.add_scalar("loss", epoch.loss, epoch.epoch)
        if not math.isnan(epoch.metric):
            writer.add_scalar(f"val_{model.metric_name}", epoch.metric, epoch.epoch)

    def after_fit(self, model: Collective) -> None:
        for writer in self.writers.values():
            writer.close()
        self.writers.clear()

    def _writer(self, iteration: int) -> Any:
        if iteration not in self.writers:
            try:
                from torch.utils.tensorboard.writer import SummaryWriter
            except ImportError as error:
                raise ValueError("TensorBoard is not installed; run pip install tensorboard") from error
            self.writers[iteration] = SummaryWriter(str(self.folder / f"iteration_{iteration}"))
        return self.writers[iteration]


class OptunaPruning(Callback):
    """Reports the best validation metric so far to an Optuna trial, and ends a fit that Optuna prunes.

    Args:
        trial: of the study; its direction must be that of the metric.
        every: how many epochs lie between two reports.

    Raises:
        optuna.TrialPruned: when the study's pruner says so.
    """

    def __init__(self, trial: Any, every: int = 10) -> None:
        self.trial, self.every = trial, every
        self.step, self.best = 0, math.nan

    def after_epoch(self, model: Collective, epoch: Epoch) -> None:
        if not math.isnan(epoch.metric):
            better = min if model._metric.lower_is_better else max
            self.best = epoch.metric if math.isnan(self.best) else better(self.best, epoch.metric)
        self.step += 1
        if self.step % self.every or math.isnan(self.best):
            return
        self.trial.report(self.best, self.step)
        if self.trial.should_prune():
            import optuna

            raise optuna.TrialPruned(f"the best {model.metric_name} was {self.best:.4f} in step {self.step}")
