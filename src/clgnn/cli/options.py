"""What several commands share: the settings of the method, progress, output."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from clgnn.base import CHOICES
from clgnn.collective.learning import Epoch
from clgnn.component import GNN, NAMES
from clgnn.estimator import CollectiveClassifier
from clgnn.graph import Graphs, as_list
from clgnn.metrics import CLASSIFICATION, REGRESSION

Command = TypeVar("Command", bound=Callable[..., Any])

console = Console()
errors = Console(stderr=True)


class Refused(click.ClickException):
    """Input that can't be taken: one line, exit code 2."""

    exit_code = 2

    def __init__(self, error: Exception) -> None:
        super().__init__(" ".join(str(error).split()))


# option, parameter of the estimator, type, help
_SETTINGS: list[tuple[str, str, Any, str]] = [
    ("--samples", "num_samples", int, "K, the label draws that are averaged."),
    ("--iterations", "num_iterations", int, "T; 0 is the plain GNN."),
    ("--masks", "num_masks", int, "J, the masks that a prediction is averaged over (partial test labels)."),
    ("--labels", "labels", click.Choice(CHOICES["labels"]), "What stands in for unknown labels."),
    ("--test-labels", "test_labels", click.Choice(CHOICES["test_labels"]), "What the graphs to come have."),
    ("--shown-share", "shown_share", float, "The part of the labels that a mask shows."),
    (
        "--inference-masks",
        "inference_masks",
        click.Choice(CHOICES["inference_masks"]),
        "Random masks in prediction, or one that shows all.",
    ),
    ("--sampling", "sampling", click.Choice(CHOICES["sampling"]), "How labels are drawn."),
    ("--hidden", "hidden_channels", int, "Hidden channels of the GNN."),
    ("--layers", "num_layers", int, "Layers of the GNN.  [default: 2; 10 for tk and krylov]"),
    ("--dropout", "dropout", float, "Dropout of the GNN."),
    ("--lr", "lr", float, "Learning rate."),
    ("--weight-decay", "weight_decay", float, "Weight decay."),
    ("--optimizer", "optimizer", click.Choice(CHOICES["optimizer"]), "The optimiser."),
    ("--epochs", "max_epochs", int, "Gradient steps an iteration, at most."),
    ("--patience", "patience", int, "Epochs without a better validation metric that end an iteration."),
    ("--eval-every", "eval_every", int, "Epochs from one validation to the next."),
    (
        "--metric",
        "metric",
        click.Choice(sorted({*CLASSIFICATION, *REGRESSION})),
        "What chooses the best epoch.  [default: accuracy; rmse for regression]",
    ),
    ("--memory-budget", "memory_budget", float, "GiB for the samples.  [default: half of what is free]"),
    ("--device", "device", str, "cpu, cuda, or auto."),
    ("--seed", "seed", int, "Of all randomness."),
]


def settings(command: Command) -> Command:
    """The method's settings, as one dictionary ``parameters`` of those that were given or have defaults."""
    for option, name, kind, text in reversed(_SETTINGS):
        default = getattr(CollectiveClassifier, name)
        command = click.option(option, name, type=kind, default=default, help=text)(command)
    return click.option(
        "--gnn",
        default="gcn",
        help=f"{', '.join(NAMES)}; or module:attr: a module, or a factory (in_channels, out_channels).",
    )(command)


def parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Takes the method's settings out of a command's options."""
    taken = {name: options.pop(name) for _, name, _, _ in _SETTINGS}
    return {"gnn": gnn(options.pop("gnn")), **taken}


def gnn(name: str) -> GNN:
    """A GNN by name, or from the user's own code as ``module:attr``."""
    if ":" not in name:
        return name
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))  # the user's own module lies where they are
    try:
        found: GNN = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"--gnn {name} could not be imported ({error}); expected module:attr") from error
    finally:
        sys.path.pop(0)
    return found


def set_threads(threads: int | None, data: Graphs, num_samples: int) -> None:
    """As many as asked for; or one for a small graph, whose threads would only wait for each other."""
    rows = sum(graph.x.size(0) for graph in as_list(data)) * num_samples
    if threads is not None or rows < 100_000:
        torch.set_num_threads(threads or 1)


def output_options(command: Command) -> Command:
    text = "CPU threads.  [default: 1 for a small graph, else all]"
    command = click.option("--threads", type=click.IntRange(min=1), help=text)(command)
    command = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(command)
    return click.option("--quiet", is_flag=True, help="Show no progress.")(command)


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=1))


class Bars:
    """A progress bar for fits: iteration, epoch, loss, validation metric."""

    def __init__(self, quiet: bool, metric: str = "") -> None:
        self.metric = metric
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[detail]}"),
            TimeElapsedColumn(),
            console=errors,
            disable=quiet,
        )

    def __enter__(self) -> Bars:
        self.progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.progress.stop()

    @contextmanager
    def fit(self, name: str, num_iterations: int, max_epochs: int) -> Iterator[Callable[[Epoch], None]]:
        """A bar for one fit; what it gives is the ``on_epoch`` of the fit."""
        task = self.progress.add_task(name, total=max_epochs, detail="")

        def on_epoch(epoch: Epoch) -> None:
            t = epoch.iteration
            detail = f"loss {epoch.loss:.3f}"
            if not math.isnan(epoch.metric):
                detail += f"  {self.metric} {epoch.metric:.3f}"
            self.progress.update(
                task,
                description=f"{name} iteration {t}/{num_iterations}",
                completed=epoch.epoch + 1,
                detail=detail,
            )

        yield on_epoch
        epochs = self.progress.tasks[task].completed  # an iteration may end early
        self.progress.update(task, total=epochs)
