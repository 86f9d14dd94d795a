"""``python -m benchmarks [scale] [--quick] [--out FILE]``: ratios, or large graphs, as a table and JSON."""

from __future__ import annotations

import json
import os
import platform
import time
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import torch
from rich.console import Console
from rich.table import Table

from benchmarks import scale
from benchmarks.steps import LIMITS, interleaved, steps, variance_ratio
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
@click.option("--fits", "whole", default="cora:gcn,cora:sage,cora:tk,pubmed:gcn,pubmed:sage,pubmed:tk",
              help="Whole fits to time, dataset:gnn, with commas in between.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), help="A JSON file; it is replaced.")
def main(
    what: str, names: str, rounds: int, quick: bool, graphs: Path | None, whole: str, out: Path | None
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
        seconds = interleaved(steps(name), rounds)
        result[name] = {"seconds": seconds, "ratios": _ratios(name, seconds)}
    if not quick:
        result |= _beyond_a_step()
        result["fits"] = fits([pair.split(":") for pair in whole.split(",")])
    if out is not None:
        out.write_text(json.dumps(result, indent=1) + "\n")


def _ratios(name: str, seconds: dict[str, float]) -> dict[str, float]:
    times = Table("one step", "ms", title=f"{name}: milliseconds, K = 10")
    for key, value in seconds.items():
        times.add_row(key, f"{1000 * value:.1f}")
    console.print(times)
    table = Table("ratio", "measured", "at most", "", title=name)
    ratios = {}
    for what, above, below, limit in LIMITS:
        ratios[what] = seconds[above] / seconds[below]
        table.add_row(what, f"{ratios[what]:.2f}", f"{limit:.1f}", "" if ratios[what] <= limit else "over")
    console.print(table)
    return ratios


def _beyond_a_step() -> dict[str, Any]:
    found: dict[str, Any] = {"variance": variance_ratio()}
    if datasets.is_here("friendster"):
        found["memory"] = {k: scale.measure("peak_memory", k) for k in (0, 8)}
    found["step_seconds"] = {
        edges: scale.measure("step_seconds", edges) for edges in (10**4, 10**5, 10**6, 10**7)
    }
    found["slope"] = scale.slope(found["step_seconds"])
    variance = found["variance"]
    table = Table("what", "measured", "at most")
    table.add_row(
        "variance of averaged logits, systematic 4 / iid 10",
        f"{variance['systematic 4'] / variance['iid 10']:.2f}",
        "1.15",
    )
    if "memory" in found:
        memory = found["memory"]
        table.add_row(
            f"peak memory, Friendster, K = 8: {memory[8]:.0f} / {memory[0]:.0f} MiB",
            f"{memory[8] / memory[0]:.2f}",
            "1.6",
        )
    table.add_row("log-log slope of a step, 1e4 to 1e7 edges", f"{found['slope']:.2f}", "1.1")
    console.print(table)
    console.print({f"{e:.0e} edges": f"{s:.3f} s" for e, s in found["step_seconds"].items()})
    return found


def fits(pairs: list[list[str]]) -> dict[str, dict[str, float]]:
    """A whole fit, T = 3 with 500 epochs at most, against the plain GNN's own."""
    table = Table("dataset", "GNN", "plain", "boosted", "ratio", title="seconds of a whole fit, T = 3")
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
        ratio = seconds[1] / seconds[0]
        table.add_row(name, gnn, f"{seconds[0]:.1f}", f"{seconds[1]:.1f}", f"{ratio:.1f}")
    console.print(table)
    return found


if __name__ == "__main__":
    main()
