"""``clgnn reproduce``: the paper's tables and figures, from trials that a ledger keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clgnn.cli.options import console, errors, print_json, worker_options
from clgnn.cli.progress import following, progress_bar
from clgnn.experiments.plan import EXPERIMENTS, config_text

if TYPE_CHECKING:
    import pandas as pd

    from clgnn.experiments.ledger import Ledger
    from clgnn.experiments.plan import Trial
    from clgnn.experiments.reproduce import Outcome

_FILE = click.Path(exists=True, dir_okay=False)


@click.command()
@click.argument("experiment", required=False, type=click.Choice([*EXPERIMENTS, "all"]))
@click.option("--datasets", "only", help="Run only these datasets, separated by commas.  [default: all]")
@click.option("--methods", help="Run only these methods, such as gcn,gcn+cl,ica.  [default: all]")
@click.option("--trials", "number", type=click.IntRange(min=1), help="Run this many splits of each cell.  "
              "[default: 5; 10 for ablation-predicted; 2 with --quick]")  # fmt: skip
@worker_options("trials")
@click.option("--out", default="results", type=click.Path(file_okay=False, path_type=Path),
              help="Keep the ledger, the tables and the figures in this folder.")  # fmt: skip
@click.option("--from", "exported", type=_FILE, help="Take in the trials of this trials.csv first.")
@click.option("--config", type=_FILE, help="Read the settings from this file.  [default: the paper's]")
@click.option("--tune", is_flag=True, help="Search the grid of the settings on validation nodes first.")
@click.option("--quick", is_flag=True, help="Run only a few epochs of everything.")
@click.option("--print-config", is_flag=True, help="Print the paper's settings, to copy, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.pass_context
def reproduce(
    context: click.Context,
    /,
    experiment: str | None,
    only: str | None,
    methods: str | None,
    out: Path,
    print_config: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Run the paper's experiments: main, learning-curve, ablation-uniform, ablation-predicted, running-time.

    Every trial is written to a ledger in --out when it ends. If you run the same command again, it goes on
    with what is missing, whatever happened. Several may run at a time. Exits with 1 if all trials failed.
    """
    if print_config:
        click.echo(config_text(), nl=False)
        return
    if experiment is None:
        raise click.UsageError(f"which experiment? One of {', '.join(EXPERIMENTS)}, or all.")
    from clgnn.experiments import reproduce as library
    from clgnn.experiments.ledger import Ledger

    watch = partial(progress, Ledger(out), options["jobs"], quiet)
    outcome = library.reproduce(
        experiment, out, only=names_in(only), methods=names_in(methods), watch=watch, **options
    )
    _show(out, outcome, as_json)
    if not outcome.done and len(outcome.failed):
        context.exit(1)


def names_in(text: str | None) -> list[str]:
    """The names that commas separate."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _show(out: Path, outcome: Outcome, as_json: bool) -> None:
    """Writes the tables and figures, and prints the tables and what failed."""
    from clgnn.report import paper_tables, rendering, results

    paths: list[Path] = []
    if (outcome.trials["status"] == "done").any():
        paths, why_no_figures = results.write(out, outcome.trials)
        paths.insert(0, out / "trials.csv")
        if why_no_figures:
            errors.print(f"No figures: {why_no_figures}", soft_wrap=True)
    name_failed(outcome.not_tuned, "not tuned")
    if as_json:
        failed = outcome.failed[["key", "error"]].to_dict("records")
        print_json({"done": outcome.done, "failed": failed, "files": [str(path) for path in paths]})
        return
    for table in paper_tables.tables(outcome.trials).values():
        for part in rendering.parts(table, console.width):
            console.print(rendering.to_rich(part))
    name_failed(outcome.failed, "failed")
    if paths:
        page = f"`clgnn report {out} --out report.html` makes a page of them"
        said = f"The tables and figures are in {out}; {page}."
        console.print(said, soft_wrap=True)
    console.print(
        f"{outcome.done} of {len(outcome.planned)} trials are done, {len(outcome.failed)} failed.",
    )


def name_failed(rows: pd.DataFrame, what: str) -> None:
    """Prints which trials failed, and why."""
    for row in rows.to_dict("records"):
        number = f", trial {row['trial']}" if what == "failed" else ""
        errors.print(
            f"{what}: {row['dataset']} {row['train_labels']} labels, {row['test_label_percent']} %, "
            f"{row['method']}{number}: {str(row['error']).splitlines()[0]}",
            soft_wrap=True,
        )


@contextmanager
def progress(ledger: Ledger, jobs: int, quiet: bool, name: str, planned: Sequence[Trial]) -> Iterator[None]:
    """A bar that follows the ledger, whoever writes it: trials done, running, left and failed."""
    from clgnn.experiments.ledger import now

    keys, since = {trial.key for trial in planned}, now()
    bar = progress_bar(quiet)
    bar.speed_estimate_period = 24 * 3600.0  # trials take seconds to hours
    task = bar.add_task(name, total=len(keys), completed=len(keys & ledger.finished()), detail="")

    def look() -> None:
        # failures of an earlier run are run again: they are no progress
        failed = len(keys & ledger.failed(since))
        ended = len(keys & ledger.finished()) + failed
        left = len(keys) - ended
        detail = f"{min(jobs, left)} running, {max(0, left - jobs)} left"
        bar.update(task, completed=ended, detail=f"{detail}, {failed} failed" if failed else detail)

    with following(bar, look):
        yield
