"""How a step grows with the graph, and what memory it takes. Each size runs in a process of its own."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def measure(what: str, *arguments: Any) -> Any:
    """Runs a function of this file in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.scale", what, json.dumps(arguments)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[-1])


def peak_memory(num_samples: int) -> float:
    """MiB that the steps of our GCN on Friendster take at their peak; 0 samples: without CL.

    Everything but Python and its libraries counts: the graph, its features, and the steps. With the labels of
    the bundled split, 15,629 of them, a step sees all of the graph.
    """
    import torch

    from benchmarks.steps import our_step
    from clgnn import datasets, splits
    from clgnn.data.graph import as_graph

    before = _memory("VmRSS")
    data = datasets.load("friendster")
    split = splits.reference("friendster")
    graph = as_graph(data)
    step = our_step("gcn", graph, torch.where(split.train_mask, data.y, -1), num_samples)
    for _ in range(3):
        step()
    return _memory("VmHWM") - before


def _memory(kind: str) -> float:
    """MiB of this process, now or at its peak. (What getrusage says starts with the parent's peak.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(kind)) / 1024


def step_seconds(num_edges: int, num_samples: int = 10) -> float:
    """The median time of a step of our GCN on a generated graph of so many directed edges."""
    import torch

    from benchmarks.steps import our_step
    from clgnn.data.graph import Graph

    generator = torch.Generator().manual_seed(0)
    nodes = num_edges // 10
    edge_index = torch.randint(nodes, (2, num_edges), generator=generator)
    x = torch.rand(nodes, 16, generator=generator)
    y = torch.randint(5, (nodes,), generator=generator)
    step = our_step("gcn", Graph(x, edge_index, None, (nodes,)), y, num_samples)
    step()
    times = []
    for _ in range(5):
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def slope(seconds: dict[int, float]) -> float:
    """Of log time over log edges."""
    logs = [(math.log(edges), math.log(value)) for edges, value in seconds.items()]
    return float(np.polyfit(*zip(*logs, strict=True), 1)[0])


if __name__ == "__main__":
    function = {"peak_memory": peak_memory, "step_seconds": step_seconds}[sys.argv[1]]
    print(json.dumps(function(*json.loads(sys.argv[2]))))
