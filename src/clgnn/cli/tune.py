"""``clgnn tune``: a search for settings on one's own tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clgnn.cli.asked import numbered
from clgnn.cli.options import (
    COUNT,
    GroupedCommand,
    asked_for,
    console,
    errors,
    option,
    output_options,
    parameters,
    print_json,
    set_threads,
    settings,
    worker_options,
)
from clgnn.cli.progress import following, progress_bar
from clgnn.cli.tables import feature_options, label_option, learn_schema, show_tables, table_options
from clgnn.estimators.settings import CollectiveSettings

if TYPE_CHECKING:
    from clgnn.experiments.tuning import Tuned

_GROUP = "Search"


@click.command(cls=GroupedCommand)
@table_options(fitting=True)
@label_option("Learn the labels of this column; a blank is unknown.", required=True, several=False)
@feature_options
@option("--undirected/--directed", default=True, group="Columns", help="Count edges in both directions.")
@option("--trials", "num_trials", default=50, type=COUNT, group=_GROUP, help="Try this many settings.")
@option("--plain", is_flag=True, group=_GROUP, help="Tune the plain GNN, with the epochs of a boosted one.")
@worker_options("fits", _GROUP)
@option("--split", group=_GROUP, help="Take train, val and observed from this column.")
@option("--val-share", default=0.2, type=click.FloatRange(0, 1, min_open=True, max_open=True), group=_GROUP,
        help="Without --split: choose on this share of the labels.")  # fmt: skip
@option("--task", default="auto", type=click.Choice(["auto", "classification", "regression"]), group=_GROUP,
        help="Predict classes or numbers; auto: numbers, if the labels have fractions.")  # fmt: skip
@option("--out", default="tuning", type=click.Path(file_okay=False, path_type=Path), group=_GROUP,
        help="Keep every trial in this folder; the same command goes on after a stop.")  # fmt: skip
@settings
@output_options
def tune(
    label: str,
    num_trials: int,
    plain: bool,
    jobs: int,
    backend: str,
    address: str | None,
    out: Path,
    quiet: bool,
    as_json: bool,
    threads: int | None,
    **options: Any,
) -> None:
    """Search for good settings on your own tables (`pip install "clgnn[tune]"`).

    Settings that you give are fixed; the others are searched: the GNN, its width, depth and dropout, the
    learning rate and weight decay, the samples, iterations and start of collective learning. The validation
    labels choose. `clgnn fit --config FOLDER/settings.toml` then takes what was found.
    """
    given = asked_for(parameters(options))
    seed = given.pop("seed", 0)
    nodes, edges, schema = learn_schema(label, options)
    links = schema.edges(nodes, edges)
    data = schema.graph(nodes, links, label)
    from clgnn.data.described import counted
    from clgnn.data.parts import hold_out, split_masks
    from clgnn.experiments import tuning

    if schema.classes is not None and given.get("metric"):
        given["metric"] = numbered(given["metric"], schema.classes)
    if options["split"] is None:
        train, validation, observed = (*hold_out(data.y, options["val_share"], seed), None)
    else:
        train, validation, observed = split_masks(data.y, nodes, options["split"])
    if not as_json and not quiet:
        show_tables(schema, counted(data, links), (int(train.sum()), int(validation.sum())))
    if threads is not None or jobs == 1:
        set_threads(threads, data, given.get("num_samples", CollectiveSettings.num_samples))

    def watch(study: Any, number: int) -> Any:
        return _progress(study, number, jobs, quiet)

    try:
        found = tuning.tune(
            data, train, validation, observed_mask=observed, num_trials=num_trials, boosted=not plain,
            settings=given, folder=out, jobs=jobs, backend=backend, address=address, seed=seed, watch=watch,
        )  # fmt: skip
    except KeyboardInterrupt:
        errors.print("Interrupted; the same command goes on with what is missing.")
        raise click.exceptions.Exit(130) from None
    page = _write(found, out)
    if as_json:
        print_json(
            {
                "metric": found.metric,
                "best": found.score,
                "settings": found.settings,
                "trials": len(found.trials),
                "files": [str(out / "settings.toml"), str(out / "trials.csv"), str(page)],
            }
        )
        return
    _show(found, out)


def _write(found: Tuned, out: Path) -> Path:
    from clgnn.files import written
    from clgnn.report.page import write
    from clgnn.report.tuning import from_tuning

    with written(out / "trials.csv") as temporary:
        found.trials.to_csv(temporary, index=False, float_format="%.6g")
    write(out / "report.html", from_tuning(found, out.name))
    return out / "report.html"


def _show(found: Tuned, out: Path) -> None:
    from rich.table import Table

    table = Table("setting", "best", title=f"Validation {found.metric.replace('_', ' ')} {found.score:.4f}")
    for name, value in sorted(found.settings.items()):
        table.add_row(name, f"{value:.4g}" if isinstance(value, float) else str(value))
    console.print(table)
    states = found.trials["state"].value_counts()
    for said in (
        f"{states.get('complete', 0)} trials came to their end, {states.get('pruned', 0)} were pruned.",
        f"`clgnn fit --config {out / 'settings.toml'}` takes these settings.",
        f"The page is {out / 'report.html'}.",
    ):
        console.print(said, soft_wrap=True)


@contextmanager
def _progress(study: Any, number: int, jobs: int, quiet: bool) -> Iterator[None]:
    """A bar that follows the study, whichever process runs the trials."""
    bar = progress_bar(quiet)
    bar.speed_estimate_period = 24 * 3600.0
    task = bar.add_task("tune", total=number, detail="")

    def look() -> None:
        trials = study.get_trials(deepcopy=False)
        done = [trial for trial in trials if trial.state.name in ("COMPLETE", "PRUNED")]
        values = [trial.value for trial in done if trial.value is not None]
        better = max if study.direction.name == "MAXIMIZE" else min
        detail = f"best {better(values):.4f}" if values else f"{min(jobs, number)} running"
        bar.update(task, completed=min(number, len(done)), detail=detail)

    with following(bar, look):
        yield
