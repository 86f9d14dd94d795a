"""Progress on the error stream: of fits, and of work that others do."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clgnn.cli.options import errors

if TYPE_CHECKING:
    from rich.progress import Progress

    from clgnn.collective.learning import Epoch
    from clgnn.estimators.node import NodeEstimator


def progress_bar(quiet: bool) -> Progress:
    """A progress bar on the error stream: what, how far, a ``detail``, the time so far and the time to go."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("to go"),
        TimeRemainingColumn(),
        console=errors,
        disable=quiet,
    )


class Bars:
    """Progress of fits: one bar for each, over the epochs of all its iterations."""

    def __init__(self, quiet: bool, metric: str = "") -> None:
        self.metric = metric
        self.progress = progress_bar(quiet)

    def __enter__(self) -> Bars:
        self.progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.progress.stop()

    @contextmanager
    def fit(
        self, name: str, model: NodeEstimator, finished: Sequence[int] = ()
    ) -> Iterator[Callable[[Epoch], None]]:
        """A bar for one fit; what it gives is the ``on_epoch`` of the fit.

        An iteration that ends early takes the epochs that it did not need off the bar. ``finished`` are the
        epochs of each iteration that a fit which goes on has behind it.
        """
        planned = model.planned_epochs()
        before = sum(finished)
        total = before + sum(planned[len(finished) :])
        task = self.progress.add_task(name, total=total, completed=before, detail="")
        took = [*finished, *[0] * len(planned)][: len(planned)]

        def on_epoch(epoch: Epoch) -> None:
            t = min(epoch.iteration, len(planned) - 1)
            took[t] = epoch.epoch + 1
            done = sum(took[: t + 1])
            detail = f"loss {epoch.loss:.3f}"
            if not math.isnan(epoch.metric):
                detail += f"  {self.metric} {epoch.metric:.3f}"
            self.progress.update(
                task,
                description=f"{name} iteration {t}/{len(planned) - 1}" if len(planned) > 1 else name,
                completed=done,
                total=done - took[t] + sum(planned[t:]),
                detail=detail,
            )

        yield on_epoch
        done = self.progress.tasks[task].completed  # the last iteration may have ended early
        self.progress.update(task, total=done, completed=done)


@contextmanager
def following(bar: Progress, look: Callable[[], None]) -> Iterator[None]:
    """Shows a bar, and looks every second how far the work is, whoever does it."""
    stop = threading.Event()

    def follow() -> None:
        while not stop.wait(1.0):
            look()

    thread = threading.Thread(target=follow, daemon=True)
    with bar:
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            look()
