"""``python -m benchmarks.table RUN.json ..``: one or several runs as Markdown, the worst of each ratio."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.steps import LIMITS


class Row(NamedTuple):
    """A ratio of one run: where it was measured, what it is, and what it may be."""

    what: str
    where: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


FIT_LIMITS = {"cora gcn": 2.0, "pubmed gcn": 2.5, "cora tk": 4.0}


def rows(result: dict[str, Any]) -> Iterator[Row]:
    """All ratios of a run."""
    for what, above, below, *limits in LIMITS:
        for name, limit in zip(("cora", "pubmed"), limits, strict=True):
            if name in result:
                yield Row(what, name, result[name][above] / result[name][below], limit)
    for name, seconds in result.get("fits", {}).items():
        (dataset, gnn), limit = name.split(), FIT_LIMITS.get(name, float("inf"))
        ratio = seconds["boosted"] / seconds["plain"]
        yield Row(f"whole fit, boosted / plain, our {gnn}", dataset, ratio, limit)
    if "variance" in result:
        ratio = result["variance"]["systematic 4"] / result["variance"]["iid 10"]
        yield Row("variance of the averaged logits, systematic K = 4 / iid K = 10", "cora", ratio, 1.15)
    if "memory" in result:
        without, with_samples = result["memory"].values()
        yield Row("peak memory, our GCN, K = 8 / without CL", "friendster", with_samples / without, 1.6)
    if "slope" in result:
        yield Row("slope of log time over log edges, 1e4 to 1e7 edges", "generated", result["slope"], 1.05)
        share = result["bandwidth"]["step"] / result["bandwidth"]["copy"]
        yield Row("bytes per second of our GCN's step, 1e7 edges / of a copy", "generated", share, 0.3, True)
        shown, click = result["help"]
        yield Row('`clgnn --help` / `python -c "import click"`', "start", shown / click, 4)


def markdown(results: list[dict[str, Any]]) -> str:
    """The worst of each ratio, then the times of the last run."""
    by_name: dict[tuple[str, str], list[Row]] = {}
    for result in results:
        for row in rows(result):
            by_name.setdefault((row.what, row.where), []).append(row)
    last = results[-1]
    worst_of = f", the worst of {len(results)} runs" if len(results) > 1 else ""
    lines = [f"{last['machine']}, {last['rounds']} rounds{worst_of}:", ""]
    lines += ["| ratio | where | measured | limit | |", "| --- | --- | ---: | ---: | --- |"]
    for (what, where), found in by_name.items():
        worst = (min if found[0].at_least else max)(found, key=lambda row: row.value)
        limit = f"{'at least' if worst.at_least else 'at most'} {worst.limit:g}"
        limit = "" if worst.limit == float("inf") else limit
        lines.append(f"| {what} | {where} | {worst.value:.2f} | {limit} | {'' if worst.met else 'missed'} |")
    if "fits" in last:
        lines += ["", "| whole fit | plain, seconds | boosted, seconds |", "| --- | ---: | ---: |"]
        lines += [f"| {name} | {s['plain']:.1f} | {s['boosted']:.1f} |" for name, s in last["fits"].items()]
    if "step_seconds" in last:
        times = ", ".join(f"{float(e):.0e}: {s:.3f} s" for e, s in last["step_seconds"].items())
        step, gather, copy = (last["bandwidth"][name] / 1e9 for name in ("step", "gather", "copy"))
        lines += ["", f"A step of our GCN by edges: {times}."]
        lines.append(f"At 1e7 edges it moves {step:.1f} GB/s; its gathers alone, of random rows, move")
        lines[-1] += f" {gather:.1f} GB/s, and a copy {copy:.1f} GB/s."
    if "reference" in last:
        theirs, ours, ratio = last["reference"].values()
        lines += ["", "An epoch of a plain GCN and one with K = 10 on Cora, one thread: the paper's code"]
        lines[-1] += f" {theirs:.2f} s, ours {ours:.4f} s, {ratio:.0f} times faster."
    return "\n".join([*lines, *_steps(last)])


def _steps(result: dict[str, Any]) -> list[str]:
    """Milliseconds of every contender."""
    graphs = [name for name in ("cora", "pubmed") if name in result]
    if not graphs:
        return []
    kinds = {"": "plain", " CL": "CL", " CL bfloat16": "CL, bfloat16", " everywhere": "plain, everywhere",
             " CL everywhere": "CL, everywhere", " CL loop": "CL, loop"}  # fmt: skip
    others = tuple(kind for kind in kinds if kind)
    names = [name for name in result[graphs[0]] if not name.endswith(others) and "draws" not in name]
    head = " | ".join(f"{graph}: {said}" for graph in graphs for said in kinds.values())
    lines = ["", f"| one step, milliseconds | {head} |"]
    lines.append("| --- |" + " ---: |" * (len(graphs) * len(kinds)))
    for name in names:
        cells = [result[graph].get(name + kind) for graph in graphs for kind in kinds]
        lines.append(
            f"| {name} | " + " | ".join("" if c is None else f"{1000 * c:.1f}" for c in cells) + " |"
        )
    return lines


if __name__ == "__main__":
    print(markdown([json.loads(Path(name).read_text()) for name in sys.argv[1:]]))
