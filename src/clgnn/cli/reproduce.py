"""``clgnn reproduce``: the paper's tables and figures, from trials that a ledger keeps."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import pandas as pd
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from clgnn import datasets as data
from clgnn.cli.options import console, errors, print_json
from clgnn.experiments.ledger import Ledger
from clgnn.experiments.plan import EXPERIMENTS, Trial, cells, config_text, read_config, trials, tuning
from clgnn.experiments.run import run, tuned, tuned_text
from clgnn.persistence import written
from clgnn.report import figures, tables


@click.command()
@click.argument("experiment", required=False, type=click.Choice([*EXPERIMENTS, "all"]))
@click.option("--datasets", "chosen", help="Some of the datasets, with commas in between.  [default: all]")
@click.option("--methods", help="Some of the methods, with commas in between: gcn,gcn+cl,ica  [default: all]")
@click.option("--trials", "number", type=click.IntRange(min=1), help="Splits a cell.  [default: 5; 10 for "
              "ablation-predicted; 2 with --quick]")  # fmt: skip
@click.option("--jobs", default=1, type=click.IntRange(min=1), help="Trials at a time, each in a process.")
@click.option("--out", default="results", type=click.Path(path_type=Path), help="Folder of the ledger, the "
              "tables and the figures; what is done there is not run again.")  # fmt: skip
@click.option("--from", "exported", type=click.Path(exists=True, dir_okay=False), help="A trials.csv of an "
              "earlier run, whose trials are not run again.")  # fmt: skip
@click.option("--config", type=click.Path(exists=True, dir_okay=False), help="Settings, as --print-config "
              "prints them.  [default: the paper's]")  # fmt: skip
@click.option("--tune", is_flag=True, help="First search the grid of the settings, on validation, for plain "
              "and boosted GNNs alike.")  # fmt: skip
@click.option("--quick", is_flag=True, help="A few epochs of everything, to see it run.")
@click.option("--backend", default="loky", type=click.Choice(["loky", "ray"]), help="Processes here, or a "
              "Ray cluster (clgnn[ray]), whose workers must see --out and the data.")  # fmt: skip
@click.option("--address", help="Of the Ray cluster.  [default: one on this machine]")
@click.option("--print-config", is_flag=True, help="Print the paper's settings, to copy, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def reproduce(
    experiment: str | None,
    chosen: str | None,
    methods: str | None,
    number: int | None,
    jobs: int,
    out: Path,
    exported: str | None,
    config: str | None,
    tune: bool,
    quick: bool,
    backend: str,
    address: str | None,
    print_config: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run the paper's experiments: main, learning-curve, ablation-uniform, ablation-predicted, running-time.

    Every trial is written to a ledger in --out when it ends. The same command, run again after whatever
    happened, goes on with what is missing; several may run at a time.
    """
    if print_config:
        click.echo(config_text(), nl=False)
        return
    if experiment is None:
        raise click.UsageError(f"which experiment? One of {', '.join(EXPERIMENTS)}, or all.")
    wanted = cells(experiment, _list(chosen), _list(methods))
    if not wanted:
        raise ValueError(f"{experiment} has none of these methods on these datasets; ask for others")
    settings = read_config(config, quick)
    for name in dict.fromkeys(cell[0] for cell in wanted):
        data.load(name)  # fetched once, and refused now rather than in every trial
    if backend == "ray":
        _connect(address)
    ledger = Ledger(out)
    if exported is not None:
        ledger.restore(exported)
    best = {}
    if tune:
        searched = [trial for _, _, some in tuning(wanted, settings) for trial in some]
        with _progress(ledger, searched, "tuning", jobs, quiet):
            run(searched, out, jobs, backend, role="other")
        best = dict(tuned(wanted, settings, out))
        _name_failed(ledger.trials("other"), searched, "not tuned")
        with written(out / "tuned.toml") as temporary:
            base = Path(config).read_text(encoding="utf-8") if config else config_text()
            temporary.write_text(f"{base}\n{tuned_text(best)}", encoding="utf-8")
    planned = [
        trial
        for cell in wanted
        for trial in trials([cell], number or (2 if quick else _default(experiment, cell)), settings, best)
    ]
    planned.sort(key=lambda trial: trial.trial)  # a bit of everything first
    ledger.assign((trial.key, trial.cell, trial.settings) for trial in planned)
    with _progress(ledger, planned, experiment, jobs, quiet):
        run(planned, out, jobs, backend)
    _show(out, ledger, planned, as_json)


def _default(experiment: str, cell: tuple[str, int, int, str]) -> int:
    """The paper's numbers of trials."""
    ablation = experiment in ("all", "ablation-predicted") and cell in EXPERIMENTS["ablation-predicted"]
    return 10 if ablation else 5


def _list(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _connect(address: str | None) -> None:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise ValueError('--backend ray needs Ray: pip install "clgnn[ray]"') from error
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    register_ray()


def _show(out: Path, ledger: Ledger, planned: Sequence[Trial], as_json: bool) -> None:
    found = ledger.trials()
    keys = {trial.key for trial in planned}
    failed = found[(found["status"] == "failed") & found["key"].isin(keys)]
    done = int(((found["status"] == "done") & found["key"].isin(keys)).sum())
    paths: list[Path] = []
    if (found["status"] == "done").any():
        ledger.export(out / "trials.csv")
        paths = [out / "trials.csv", *tables.write(out / "tables", found)]
        try:
            paths += figures.write(out / "figures", found)
        except ValueError as error:  # no matplotlib
            errors.print(f"No figures: {error}", highlight=False)
    if as_json:
        print_json(
            {
                "done": done,
                "failed": failed[["key", "error"]].to_dict("records"),
                "files": [str(path) for path in paths],
            }
        )
        return
    for table in tables.tables(found).values():
        for part in tables.parts(table, console.width):
            console.print(tables.to_rich(part))
    _name_failed(found, planned, "failed")
    console.print(
        f"{done} of {len(planned)} trials done, {len(failed)} failed. Tables and figures in {out}; "
        f"`clgnn report {out} --out report.html` makes a page of them.",
        highlight=False,
    )


def _name_failed(found: pd.DataFrame, planned: Sequence[Trial], what: str) -> None:
    keys = {trial.key for trial in planned}
    for row in found[(found["status"] == "failed") & found["key"].isin(keys)].to_dict("records"):
        number = f", trial {row['trial']}" if what == "failed" else ""
        errors.print(
            f"{what}: {row['dataset']} {row['train_labels']} labels, {row['test_label_percent']} %, "
            f"{row['method']}{number}: {str(row['error']).splitlines()[0]}",
            highlight=False,
        )


@contextmanager
def _progress(ledger: Ledger, planned: Sequence[Trial], name: str, jobs: int, quiet: bool) -> Iterator[None]:
    """A bar that follows the ledger, whoever writes it: trials done, running, left, and time to go."""
    keys = {trial.key for trial in planned}
    began, at_start = time.monotonic(), len(keys & ledger.finished(failed=False))
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
        console=errors,
        disable=quiet,
    )
    task = bar.add_task(name, total=len(keys), completed=at_start, detail="")
    stop = threading.Event()

    def look() -> None:
        done, ended = len(keys & ledger.finished()), len(keys & ledger.finished(failed=True))
        left = len(keys) - ended
        new = ended - at_start
        detail = f"{min(jobs, left)} running, {max(0, left - jobs)} left"
        if ended > done:
            detail += f", {ended - done} failed"
        if new > 0 and left:
            detail += f", {_duration((time.monotonic() - began) / new * left)} to go"
        bar.update(task, completed=ended, detail=detail)

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


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{max(minutes, 1)} min"
