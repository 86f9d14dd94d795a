"""``python -m benchmarks [scale] [--quick] [--out FILE]``: ratios, or large graphs, as a table and JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import torch
from rich.console import Console
from rich.markdown import Markdown

from benchmarks import scale
from benchmarks.reference import compare
from benchmarks.steps import interleaved, steps, variance_ratio
from benchmarks.table import markdown
from clgnn import CollectiveClassifier, datasets, splits

console = Console(width=110)


def machine() -> str:
    names = [line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores, torch {torch.__version__}"


def _cpuinfo() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []


@click.command()
@click.argument("what", type=click.Choice(["steps", "scale"]), default="steps")
@click.option("--datasets", "names", default="cora,pubmed", help="For the steps and the fits.")
@click.option("--rounds", default=15, help="Of which the median is taken.")
@click.option("--quick", is_flag=True, help="Few rounds, small sizes, no fits; no 1e8 edges for scale.")
@click.option(
    "--graphs", type=click.Path(path_type=Path), help="A folder for the graphs of scale, to be kept."
)
@click.option("--fits", "whole", default="cora:gcn,cora:sage,cora:tk,pubmed:gcn,pubmed:sage",
              help="Whole fits to time, dataset:gnn, with commas in between.")  # fmt: skip
@click.option("--reference", type=click.Path(path_type=Path), help="Time this checkout of the paper's code.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the tables as Markdown.")
@click.option("--out", type=click.Path(path_type=Path), help="A JSON file; it is replaced.")
def main(
    what: str,
    names: str,
    rounds: int,
    quick: bool,
    graphs: Path | None,
    whole: str,
    reference: Path | None,
    as_markdown: bool,
    out: Path | None,
) -> None:
    """What K = 10 samples cost, as ratios in one run; or, with "scale", what large graphs cost."""
    rounds = 3 if quick else rounds
    result: dict[str, Any] = {"machine": machine(), "rounds": rounds}
    console.print(result["machine"], highlight=False)
    if what == "scale":
        with nullcontext(graphs) if graphs else TemporaryDirectory() as folder:
            result = {"machine": result["machine"], **scale.table(quick, Path(folder))}
        names, quick = "", True
    for name in names.split(",") if names else ():
        result[name] = interleaved(steps(name), rounds)
    if not quick:
        result |= _beyond_a_step()
        result["fits"] = fits([pair.split(":") for pair in whole.split(",")])
    if reference is not None:
        result["reference"] = compare(reference)
    if out is not None:
        out.write_text(json.dumps(result, indent=1) + "\n")
    if what == "steps":
        table = markdown([result])
        print(table) if as_markdown else console.print(Markdown(table))


def _beyond_a_step() -> dict[str, Any]:
    found: dict[str, Any] = {"variance": variance_ratio()}
    if datasets.is_here("friendster"):
        found["memory"] = {k: scale.measure("peak_memory", k) for k in (0, 8)}
    found["step_seconds"] = {edges: scale.measure("step_seconds", edges) for edges in (10**4, 10**5, 10**6)}
    found["bandwidth"] = scale.measure("step_bandwidth", 10**7)
    found["step_seconds"][10**7] = found["bandwidth"]["seconds"]
    found["slope"] = scale.slope(found["step_seconds"])
    found["help"] = [_started("-m", "clgnn", "--help"), _started("-c", "import click")]
    return found


def _started(*arguments: str) -> float:
    """The median seconds of a Python process."""
    times = []
    for _ in range(7):
        began = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def fits(pairs: list[list[str]]) -> dict[str, dict[str, float]]:
    """Seconds of whole fits: the plain GNN, and the boosted one, T = 3."""
    found = {}
    for name, gnn in pairs:
        data = datasets.load(name)
        split = splits.paper(name, trial=0, data=data)
        seconds = []
        for iterations in (0, 3):
            began = time.perf_counter()
            CollectiveClassifier(gnn, num_iterations=iterations).fit(data, split.train_mask, split.val_mask)
            seconds.append(time.perf_counter() - began)
        found[f"{name} {gnn}"] = {"plain": seconds[0], "boosted": seconds[1]}
    return found


if __name__ == "__main__":
    main()
