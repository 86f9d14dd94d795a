"""``clgnn fit``: a model from a table of nodes and a table of edges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clgnn.baselines import METHODS, REGRESSION_METHODS
from clgnn.cli.asked import asked_model, numbered
from clgnn.cli.graphs import graph_option, read_to_fit
from clgnn.cli.options import (
    GroupedCommand,
    check_writable,
    console,
    errors,
    option,
    output_options,
    parameters,
    print_json,
    said_of_majority,
    said_of_threshold,
    set_threads,
    settings,
)
from clgnn.cli.processes import batch_options, batch_settings, joined, launch, started
from clgnn.cli.progress import Bars
from clgnn.cli.tables import (
    add_start,
    feature_options,
    label_option,
    show_tables,
    start_option,
    table_options,
)
from clgnn.estimators.settings import CollectiveSettings

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch_geometric.data import Data

    from clgnn.data.tables import Schema
    from clgnn.estimators.node import NodeEstimator

_MODEL = "The model"
_CHOICES = list(dict.fromkeys(["collective", "best", *METHODS, *REGRESSION_METHODS]))


@click.command(cls=GroupedCommand)
@table_options(fitting=True, required=False)
@graph_option
@label_option("Learn the labels of this column; a blank is unknown.  [required, but not with --graph]")
@feature_options
@option("--undirected/--directed", default=True, group="Columns", help="Count edges in both directions.")
@option("--out", required=True, type=click.Path(path_type=Path), group=_MODEL, help="Write the model to this "
        "folder.")  # fmt: skip
@option("--force", is_flag=True, group=_MODEL, help="Replace a model that is there.")
@option("--resume", is_flag=True, group=_MODEL, help="Go on where an interrupted fit was, at most half a "
        "minute before it ended.")  # fmt: skip
@option("--method", default="collective", type=click.Choice(_CHOICES), group=_MODEL,
        help="Use collective learning, one of its rivals, or the best of a comparison.")  # fmt: skip
@option("--from", "comparison", type=click.Path(exists=True, file_okay=False), group=_MODEL,
        help="With --method best: the folder that `clgnn compare` wrote.")  # fmt: skip
@option("--task", default="auto", type=click.Choice(["auto", "classification", "regression"]), group=_MODEL,
        help="Predict classes or numbers; auto: numbers, if the labels have fractions.")  # fmt: skip
@option("--split", group=_MODEL, help="Take train, val, test and observed from this column.")
@option("--val-share", default=0.2, type=click.FloatRange(0, 1, max_open=True), group=_MODEL,
        help="Without --split: keep this share of the labels to choose epoch and iteration.")  # fmt: skip
@option("--class-weight", type=click.Choice(["balanced"]), group=_MODEL, help="Weight rare classes more.")
@option("--threshold", metavar="METRIC", group=_MODEL, help="After training, choose the probability from "
        "which on a node is of the second class, on the validation labels, by this metric: accuracy, "
        "balanced_accuracy, macro_f1 or f1:CLASS.")  # fmt: skip
@start_option
@batch_options
@settings
@output_options
def fit(
    label: str | tuple[str, ...] | None,
    out: Path,
    force: bool,
    resume: bool,
    method: str,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Fit a model to your own graph.

    Labels that are blank are unknown. --test-labels says whether the graphs you will predict on have labels:
    none, or some (partial), which the model then learns to use.
    """
    number = options.pop("processes")
    if number > 1 and not started():
        _check_processes(number, options)
        launch(number)
        return
    with joined() as first:
        _run(label, out, force, resume, method, quiet, as_json, first, options)


def _check_processes(number: int, options: dict[str, Any]) -> None:
    if options["batch_size"] is None:
        raise ValueError(f"--processes {number} share the parts of a batch; say its size: --batch-size")
    if number > options["parts"]:
        raise ValueError(f"--processes {number} are more than the parts of a batch; raise --parts")


def _run(
    label: str | tuple[str, ...] | None,
    out: Path,
    force: bool,
    resume: bool,
    method: str,
    quiet: bool,
    as_json: bool,
    first: bool,
    options: dict[str, Any],
) -> None:
    """The fit itself; of several processes, the ``first`` one writes."""
    from clgnn.data.described import schema_text
    from clgnn.data.graph import as_list
    from clgnn.data.marks import marks
    from clgnn.engine import processes
    from clgnn.estimators import checkpoints
    from clgnn.estimators.metrics import majority

    out = Path(out.absolute().resolve())
    interrupted = out.with_name(out.name + ".partial")
    _check_output(out, interrupted, resume, force)
    batches = batch_settings(options)
    given = {**parameters(options), "class_weight": options.pop("class_weight")}
    nodes, data, schema, counts = read_to_fit(label, options, in_parts=bool(batches))
    y = as_list(data)[0].y
    set_threads(options["threads"], data, given["num_samples"])
    masks = _masks(y, nodes, options["split"], options["val_share"], given["seed"])
    train, validation, observed = masks
    _check_classes(schema, y, train, validation)
    by = _threshold_metric(options["threshold"], schema, y, train, validation)
    if given["start"] == "given" and options["start_predictions"] is None:
        raise ValueError("--start given needs first predictions; name their table with --start-predictions")
    if options["start_predictions"] is not None:
        if given["start"] not in ("given", CollectiveSettings.start):
            named = given["start"] if isinstance(given["start"], str) else ",".join(given["start"])
            raise ValueError(f"--start {named} and --start-predictions are two starts; leave one of them out")
        given["start"] = "given"
        add_start(data, options["start_predictions"], nodes, schema, y[train].unique().tolist())
    model = asked_model(method, options["comparison"], schema, given)
    if not as_json and not quiet:
        show_tables(schema, counts, (int(train.sum()), int(validation.sum())))
    if resume and not model.resumable:
        raise ValueError(f"--resume is for fits in iterations, and --method {method} has none; leave it out")
    if batches and not model.takes_stored:
        raise ValueError(f"--batch-size is for collective learning, not for --method {method}; leave it out")
    if force and not resume and model.resumable and first:
        checkpoints.discard(interrupted)
    processes.wait()
    _fit(model, data, *masks, interrupted, quiet, batches)
    accuracy = _after(model, data, *masks, by)
    learned = train if observed is None or not model.trains_on_observed else train | observed
    seen = (learned | validation).numpy()
    if not first:
        return
    learned_from = marks(nodes[schema.id], as_list(data)[0].x, seen.nonzero()[0])
    extra = {"table": schema.to_json(), "learned_from": learned_from}
    model.save(out, force, extra=extra, schema=schema_text(schema, counts))
    if model.resumable:
        checkpoints.discard(interrupted)
    judged = y[validation]
    if as_json:
        numbers = {"train": int(train.sum()), "validation": int(validation.sum())}
        print_json({
            "model": str(out), "nodes": data.num_nodes, "labels": numbers, "metric": model.metric_name,
            "start": _start(model), "best": _best(model), "best_iteration": model.best_iteration_,
            "threshold": model.threshold_, "accuracy": accuracy,
            "majority_accuracy": None if accuracy is None else majority(judged)[1],
        })  # fmt: skip
        return
    _show(model, schema, judged, accuracy, out)


def _fit(
    model: NodeEstimator,
    data: Data,
    train: Tensor,
    validation: Tensor,
    observed: Tensor | None,
    interrupted: Path,
    quiet: bool,
    batches: dict[str, Any],
) -> None:
    from clgnn.estimators.checkpoints import finished_epochs

    chosen = validation if bool(validation.any()) else None
    if observed is not None and model.refuses_labels() and not model.trains_on_observed:
        number = int((observed & ~train).sum())
        errors.print(
            f"{number:,} rows say observed; their labels are not used: --test-labels is none.",
        )
        observed = None
    resumable: dict[str, Any] = {"checkpoint": interrupted} if model.resumable else {}
    finished = finished_epochs(interrupted) if model.resumable else []
    try:
        with Bars(quiet, model.metric_name) as bars, bars.fit("fit", model, finished) as on_epoch:
            model.fit(data, train, chosen, observed_mask=observed, on_epoch=on_epoch, **resumable, **batches)
    except KeyboardInterrupt:
        hint = "; the same command with --resume goes on where it was"
        errors.print(f"Interrupted{hint if interrupted.exists() else ''}.")
        raise click.exceptions.Exit(130) from None


def _after(
    model: NodeEstimator,
    data: Data,
    train: Tensor,
    validation: Tensor,
    observed: Tensor | None,
    by: str | None,
) -> float | None:
    """Chooses the threshold, if one is asked for; the accuracy on the validation nodes, if there is one."""
    from clgnn.estimators.labelling import Classes

    if not isinstance(model.labelling_, Classes) or not bool(validation.any()):
        return None
    shown = None
    if model.sees_labels():
        shown = train if observed is None else observed
    if by is not None:
        model.choose_threshold(data, validation, shown, by)
    return model.score(data, validation, shown, metric="accuracy")


def _threshold_metric(
    metric: str | None, schema: Schema, y: Tensor, train: Tensor, validation: Tensor
) -> str | None:
    """What the threshold is chosen by, with the number of the class; what can't be is refused early."""
    from clgnn.estimators.threshold import threshold_metric

    if metric is None:
        return None
    if schema.classes is None:
        raise ValueError(f"--threshold is for two classes, and {schema.what}: leave it out")
    learned, judged = ([schema.classes[c] for c in y[mask].unique().tolist()] for mask in (train, validation))
    try:
        threshold_metric(metric, learned)
    except ValueError as error:
        raise ValueError(str(error).replace("metric is", "--threshold is", 1)) from error
    if len(judged) < 2:
        there = f"all of them are {judged[0]!r}" if judged else "there are none"
        raise ValueError(
            f"--threshold needs validation labels of both classes, and {there}; raise --val-share, or say "
            "val in more rows of --split"
        )
    return numbered(metric, schema.classes)


def _check_output(out: Path, interrupted: Path, resume: bool, force: bool) -> None:
    check_writable(out)
    if out.is_file():
        raise ValueError(f"--out {out} is a file; expected a folder for the model: choose another")
    if out.is_dir() and any(out.iterdir()):
        if not (out / "model.json").is_file():
            raise ValueError(f"--out {out} is a folder with files in it, and no model; choose another")
        if not force:
            raise ValueError(f"{out} exists; choose another --out, or --force to replace the model in it")
    left = ("checkpoint.json", "snapshot.safetensors")
    if any((interrupted / name).exists() for name in left) and not (resume or force):
        raise ValueError(
            f"{interrupted} holds a fit that was interrupted; --resume goes on with it, --force starts anew"
        )


def _masks(
    y: Tensor, nodes: pd.DataFrame, split: str | None, share: float, seed: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The labels to learn from, to choose by, and to show while validating (None: those to learn from)."""
    from clgnn.data.parts import hold_out, split_masks

    return (*hold_out(y, share, seed), None) if split is None else split_masks(y, nodes, split)


def _check_classes(schema: Schema, y: Tensor, train: Tensor, validation: Tensor) -> None:
    """Says by its name which class is alone in training, or missing there."""
    if schema.classes is None:
        return
    learned, judged = ({schema.classes[c] for c in y[mask].tolist()} for mask in (train, validation))
    if len(learned) < 2:
        raise ValueError(f"all labels to learn from are {learned.pop()!r}; expected two classes or more")
    if judged - learned:
        name = min(judged - learned)
        raise ValueError(
            f"class {name!r} is in the validation part, and not in the training part; add it there"
        )


def _best(model: NodeEstimator) -> list[float | None]:
    """The validation metric of the start and of each iteration; of the whole, where there are none."""
    return list(getattr(model, "stage_scores_", [model.best_score_]))


def said_of_caution(model: NodeEstimator) -> str | None:
    """Why the start predicts although an iteration has a better score; None where that is not so."""
    scores, caution = [score for score in _best(model) if score is not None], getattr(model, "caution", 0)
    better = min if getattr(model, "lower_is_better_", False) else max
    if not caution or not scores or better(scores) == _best(model)[0] or model.best_iteration_ > 0:
        return None
    return (
        f"The best iteration is not better than the start by more than --caution {caution:g} standard "
        "errors: the start predicts."
    )


def _start(model: NodeEstimator) -> str | None:
    """What the first predictions came from, in words; None for a method that has no start."""
    from clgnn.estimators.inside import Inside

    if not isinstance(model, Inside):
        return None
    own = "no predicted labels" if model.start == "paper" else "the plain GNN"
    return model._other_start() or own


def _show(model: NodeEstimator, schema: Schema, judged: Tensor, accuracy: float | None, out: Path) -> None:
    from rich.table import Table

    best, metric = _best(model), model.metric_name.replace("_", " ")
    if len(best) == 1 and best[0] is not None:
        console.print(f"Validation {metric}: {best[0]:.4f}.")
    elif best[0] is not None:
        table = Table("iteration", f"validation {metric}")
        for t, value in enumerate(best):
            name = f"{t} ({_start(model)})" if t == 0 and len(best) > 1 else str(t)
            chosen = t == model.best_iteration_ and len(best) > 1
            table.add_row(f"{name}, predicts" if chosen else name, "–" if value is None else f"{value:.4f}")
        console.print(table)
    told = [said_of_caution(model), said_of_threshold(model, schema.classes)]
    if accuracy is not None and schema.classes is not None:
        told.append(said_of_majority(accuracy, judged, schema.classes, "validation"))
    for sentence in (*told, f"The model is in {out}."):
        if sentence is not None:
            console.print(sentence, soft_wrap=True)
