"""``clgnn report``: the results of a ledger as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from clgnn.cli.options import console, print_json


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--out", default="report.html", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the page to this file.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def report(results: Path, out: Path, force: bool, as_json: bool) -> None:
    """Show RESULTS as one HTML page that needs no network.

    RESULTS is a folder that `clgnn reproduce` wrote to, or its trials.csv. The page shows our numbers beside
    the paper's, with the settings and the trials behind each of them.
    """
    check_out(out, force, "--out")
    from clgnn.experiments import ledger
    from clgnn.report.graph_view import view_trials
    from clgnn.report.page import write
    from clgnn.report.trials import from_trials

    trials = ledger.read(results)
    content = from_trials(trials, view_trials(trials))
    write(out, content)
    done = int((trials["status"] == "done").sum())
    if as_json:
        print_json({
            "report": str(out), "trials": done, "failed": len(trials) - done, "cells": len(content["cells"]),
            "graph": content["graph"] is not None,
        })  # fmt: skip
        return
    said = f"{done:,} trials, {len(content['cells']):,} cells; the page is {out}."
    console.print(said, soft_wrap=True)


def check_out(path: Path, force: bool, option: str) -> None:
    """Refuses a file that is there, and a name that no browser would open.

    Example:
        >>> check_out(Path("page.txt"), False, "--out")
        Traceback (most recent call last):
        ValueError: page.txt ends in .txt; expected .html
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{path} ends in {path.suffix or 'nothing'}; expected .html")
    if path.exists() and not force:
        hint = ", or --force to replace it" if option == "--out" else ""
        raise ValueError(f"{path} exists; choose another {option}{hint}")
