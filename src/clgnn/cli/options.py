"""What several commands share: the settings of the method, output.

Nothing heavy is imported before a command runs, so that help and wrong options are answered at once.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import tempfile
import tomllib
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from rich.console import Console

from clgnn.estimators.settings import (
    CHOICES,
    CLASSIFICATION,
    GNNS,
    OPTIMIZERS,
    PRESETS,
    REGRESSION,
    CollectiveSettings,
    check,
    preset,
)

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table
    from torch import Tensor

    from clgnn.collective.component import GNN
    from clgnn.data.graph import Graphs
    from clgnn.estimators.node import NodeEstimator

Command = TypeVar("Command", bound=Callable[..., Any])

_AS_IT_IS: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
"""A file may be called ``a[b].csv`` and a node ``a:b:c``; neither is a colour or a picture."""
console = Console(**_AS_IT_IS)
errors = Console(stderr=True, **_AS_IT_IS)


class Refused(click.ClickException):
    """Input that can't be taken: one line, exit code 2."""

    exit_code = 2

    def __init__(self, error: object) -> None:
        super().__init__(" ".join(str(error).split()))


class Grouped(click.Option):
    """An option that the help shows under a heading."""

    def __init__(self, *arguments: Any, group: str = "", **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help shows its options by group, in the order in which the groups first come."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(parameter, "group", ""), []).append(record)
        for name in sorted(groups, key=lambda name: name == ""):
            with formatter.section(name or ("Other options" if len(groups) > 1 else "Options")):
                formatter.write_dl(groups[name])


def option(*names: str, group: str = "", **keywords: Any) -> Callable[[Command], Command]:
    """A click option of a group."""
    return click.option(*names, cls=Grouped, group=group, **keywords)


COUNT, COUNT_0 = click.IntRange(min=1), click.IntRange(min=0)
ABOVE_0, SHARE = click.FloatRange(min=0, min_open=True), click.FloatRange(0, 1)
_METRICS = dict.fromkeys((*CLASSIFICATION, *REGRESSION))
_CL, _GNN, _TRAIN, _RUN = "Collective learning", "The GNN", "Training", "Running"
# option, parameter of the estimator, type, help, group
_SETTINGS: list[tuple[str, str, Any, str, str]] = [
    ("--iterations", "num_iterations", COUNT_0, "Set T, the iterations; 0 is the plain GNN.", _CL),
    ("--samples", "num_samples", COUNT, "Set K, the label draws that are averaged.", _CL),
    ("--test-labels", "test_labels", click.Choice(CHOICES["test_labels"]),
     "Say whether the graphs you will predict on have labels.", _CL),
    ("--start", "start", str, "Start from plain, paper, auto, or from rivals such as pl_em,gmnn.", _CL),
    ("--shown-share", "shown_share", SHARE, "Set the share of the labels that a mask shows.", _CL),
    ("--masks", "num_masks", COUNT,
     "Average a prediction over this many masks.  [default: a mask of its own for each sample]", _CL),
    ("--inference-masks", "inference_masks", click.Choice(CHOICES["inference_masks"]),
     "Predict with random masks, or with one that shows all observed labels.", _CL),
    ("--labels", "labels", click.Choice(CHOICES["labels"]), "Choose what stands in for unknown labels.", _CL),
    ("--sampling", "sampling", click.Choice(CHOICES["sampling"]), "Choose how labels are drawn.", _CL),
    ("--caution", "caution", click.FloatRange(min=0),
     "Let the best iteration predict if it is better than the start by so many standard errors.", _CL),
    ("--hidden", "hidden_channels", COUNT, "Set the hidden channels.", _GNN),
    ("--layers", "num_layers", COUNT, "Set the layers.  [default: 2; 10 for snowball and krylov]", _GNN),
    ("--dropout", "dropout", click.FloatRange(0, 1, max_open=True), "Set the dropout.", _GNN),
    ("--epochs", "max_epochs", COUNT, "Stop the plain GNN after this many gradient steps.", _TRAIN),
    ("--patience", "patience", COUNT,
     "Stop it after this many epochs without a better validation metric.", _TRAIN),
    ("--iteration-epochs", "iteration_epochs", COUNT,
     "Stop a later iteration after this many gradient steps.  [default: a quarter of --epochs]", _TRAIN),
    ("--iteration-patience", "iteration_patience", COUNT,
     "Stop it after this many epochs without a better metric.  [default: a quarter of --patience]", _TRAIN),
    ("--lr", "lr", ABOVE_0, "Set the learning rate.", _TRAIN),
    ("--weight-decay", "weight_decay", click.FloatRange(min=0), "Set the weight decay.", _TRAIN),
    ("--optimizer", "optimizer", click.Choice(OPTIMIZERS), "Choose the optimiser.", _TRAIN),
    ("--eval-every", "eval_every", COUNT, "Set the number of epochs between validations.", _TRAIN),
    ("--metric", "metric", str, f"Choose epoch and iteration by {', '.join(_METRICS)}, f1:CLASS or "
     "accuracy@0.5.  [default: accuracy; rmse for regression]", _TRAIN),
    ("--seed", "seed", COUNT_0, "Set the random seed.", _RUN),
    ("--device", "device", str, "Compute on cpu, on cuda, or on a GPU if there is one (auto).", _RUN),
    ("--memory-budget", "memory_budget", ABOVE_0, "Let the samples of a step keep this many GiB.", _RUN),
    ("--precision", "precision", click.Choice(["float32", "bfloat16"]), "Multiply in this precision.", _RUN),
]  # fmt: skip
OPTION_OF = {"gnn": "--gnn", **{name: option for option, name, _, _, _ in _SETTINGS}}
"""The option of each setting, for messages in the words of the command line."""


_FLAGS = (
    ("--calibrate/--no-calibrate", "calibrate", "Calibrate the probabilities on the validation labels.", _CL),
    (
        "--learn-observed/--show-observed",
        "learn_observed",
        "Learn from observed labels, or only show them.",
        _CL,
    ),
)


def settings(command: Command, hidden: Container[str] = (), **defaults: Any) -> Command:
    """The method's settings, as options; :func:`parameters` takes them out again.

    Args:
        command: that gets them.
        hidden: settings that the help does not show.
        defaults: where a command has others than the estimator.
    """
    text = "Set all as the paper has it; what is given beside it counts."
    command = option("--preset", type=click.Choice(list(PRESETS)), help=text, group=_CL)(command)
    text = "Take settings from this TOML file, such as `clgnn tune` writes; what is given beside it counts."
    command = option("--config", type=click.Path(exists=True, dir_okay=False), help=text, group=_CL)(command)
    for name, setting, text, group in reversed(_FLAGS):
        default = getattr(CollectiveSettings, setting)
        command = option(name, setting, default=default, help=text, group=group)(command)
    for name, setting, kind, text, group in reversed(_SETTINGS):
        default = defaults.get(setting, getattr(CollectiveSettings, setting))
        command = option(
            name, setting, type=kind, default=default, help=text, group=group, hidden=setting in hidden
        )(command)
    names = ", ".join(GNNS)
    text = f"Choose {names}; or your own module:attr, a module or a factory (in_channels, out_channels)."
    return option("--gnn", default="gcn", help=text, group=_GNN)(command)


def parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Takes the method's settings out of a command's options."""
    names = [name for _, name, _, _, _ in _SETTINGS] + [name for _, name, _, _ in _FLAGS]
    taken = {name: options.pop(name) for name in ("gnn", *names)}
    context = click.get_current_context()
    del options["preset"], options["config"]
    for name, value in _together(context).items():
        if name not in taken or context.get_parameter_source(name) == ParameterSource.DEFAULT:
            taken[name] = value
    if isinstance(taken["start"], str):
        several = [part.strip() for part in taken["start"].split(",")]
        taken["start"] = several[0] if len(several) == 1 else several
    return {**taken, "gnn": gnn(taken["gnn"])}


def _together(context: click.Context) -> dict[str, Any]:
    """The settings of --config, over those of --preset."""
    found, name = from_file(context.params.get("config")), context.params.get("preset")
    if name is None:
        return found
    asked = context.get_parameter_source("test_labels") != ParameterSource.DEFAULT
    own = context.params["test_labels"]
    return {**preset(name, own if asked else found.get("test_labels", own)), **found}


def from_file(path: str | None) -> dict[str, Any]:
    """The settings of a TOML file."""
    if path is None:
        return {}
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is no TOML ({error}); expected lines such as lr = 0.05") from error
    known = vars(CollectiveSettings())
    for name in found.keys() - known.keys():
        raise ValueError(f"{path} sets {name!r}, which is no setting; expected {', '.join(known)}")
    for name in ("gnn", "metric"):
        if not isinstance(found.get(name, ""), str):
            raise ValueError(f"{path} sets {name} to {found[name]!r}; expected a name, in quotes")
    try:
        check(found, {}, {})
    except ValueError as error:
        name, said, rest = str(error).partition(" is ")
        raise ValueError(f"{OPTION_OF.get(name, name)}{said}{rest} (in {path})") from error
    return found


def asked_for(settings: dict[str, Any]) -> dict[str, Any]:
    """Those of the settings that the user gave; the others are defaults of collective learning."""
    context = click.get_current_context()
    given = {name for name in settings if context.get_parameter_source(name) != ParameterSource.DEFAULT}
    given |= _together(context).keys()
    return {name: value for name, value in settings.items() if name in given}


def gnn(name: str) -> GNN:
    """A GNN by name, or from the user's own code as ``module:attr``."""
    if ":" not in name:
        return name
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))  # the user's own module lies where they are
    try:
        found: GNN = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"--gnn {name} could not be imported ({error}); expected module:attr") from error
    finally:
        sys.path.pop(0)
    return found


def set_threads(threads: int | None, data: Graphs, num_samples: int) -> None:
    """As many as asked for; or one for a small graph, whose threads would only wait for each other."""
    import torch

    from clgnn.data.graph import as_list

    rows = sum(graph.x.size(0) for graph in as_list(data)) * num_samples
    if threads is not None or rows < 100_000:
        torch.set_num_threads(threads or 1)


def check_writable(out: Path, option: str = "--out") -> None:
    """Refuses a place that can't be written to, before the work is done."""
    folder = next(folder for folder in out.absolute().parents if folder.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".clgnn", dir=folder):
            pass
    except OSError as error:
        raise ValueError(
            f"{option} {out} can't be written: {folder} is no folder that you may write to; choose another"
        ) from error


def said_of_majority(accuracy: float, y: Tensor, classes: Sequence[str], where: str) -> str | None:
    """A sentence, if an accuracy is no better than that of always saying the most frequent class.

    Args:
        accuracy: on the nodes that are meant.
        y: their classes, by number.
        classes: the names of the classes.
        where: the nodes in words, such as ``"validation"``.
    """
    from clgnn.estimators.metrics import majority

    most, share = majority(y)
    if accuracy > share:
        return None
    return (
        f"The accuracy on the {len(y):,} {where} nodes is {accuracy:.4f}: no better than always saying "
        f"{classes[most]!r}, their most frequent class ({share:.4f})."
    )


def said_of_threshold(model: NodeEstimator, classes: Sequence[str] | None) -> str | None:
    """From which probability on a node is of which class, if validation chose that."""
    if model.threshold_ is None or classes is None:
        return None
    name = classes[int(model.classes_[1])]
    return f"A node is {name!r} from a probability of {model.threshold_:.4g} on, as validation chose."


def worker_options(what: str, group: str = "") -> Callable[[Command], Command]:
    """``--jobs``, ``--backend`` and ``--address``: how many run at a time, and where."""

    def add(command: Command) -> Command:
        text = "Connect to the Ray cluster at this address.  [default: start one here]"
        command = option("--address", group=group, help=text)(command)
        text = "Run on this machine, or on a Ray cluster that sees --out and the data."
        kinds = click.Choice(["loky", "ray"])
        command = option("--backend", default="loky", type=kinds, group=group, help=text)(command)
        text = f"Run this many {what} at a time."
        return option("--jobs", default=1, type=COUNT, group=group, help=text)(command)

    return add


def output_options(command: Command) -> Command:
    """``--quiet``, ``--json`` and ``--threads``."""
    text = "Use this many CPU threads.  [default: 1 for a small graph, else all]"
    command = option("--threads", type=COUNT, help=text, group=_RUN)(command)
    command = option("--json", "as_json", is_flag=True, help="Print the result as JSON.", group=_RUN)(command)
    return option("--quiet", is_flag=True, help="Show no progress.", group=_RUN)(command)


def print_json(value: Any) -> None:
    """Prints a value as JSON, which has no NaN and no infinity: they are null."""
    click.echo(json.dumps(_finite(value), indent=1, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_rich(title: str, table: pd.DataFrame) -> Table:
    """A table for the terminal."""
    from rich.table import Table

    made = Table(*map(str, table.columns), title=title, title_justify="left")
    for row in table.itertuples(index=False):
        made.add_row(*(f"{v:.4f}" if isinstance(v, float) else str(v) for v in row))
    return made
