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


def edge_bytes(num_edges: int, gnn: str = "gcn") -> float:
    """Bytes for each directed edge that tensors of the size of the edges take while a model is fitted."""
    import gc
    import tempfile

    import torch

    from benchmarks.generated import write_arrays
    from clgnn import CollectiveClassifier

    with tempfile.TemporaryDirectory() as folder:
        graph = write_arrays(Path(folder), num_edges)
        data = graph.to_data()
        train, val = graph.part("train"), graph.part("val")
    found: list[float] = []

    def look(_: Any) -> None:
        sizes = {}
        for one in gc.get_objects():
            if type(one) is torch.Tensor:
                compressed = one.layout == torch.sparse_csr
                parts = (one.crow_indices(), one.col_indices(), one.values()) if compressed else (one,)
                for part in parts:
                    if part.layout == torch.strided and part.dim() and part.size(-1) >= num_edges / 8:
                        storage = part.untyped_storage()
                        sizes[storage.data_ptr()] = storage.nbytes()
        found.append(sum(sizes.values()) / data.num_edges)

    model = CollectiveClassifier(gnn, num_iterations=1, max_epochs=2, iteration_epochs=2)
    model.fit(data, train, val, on_epoch=look)
    return found[-1]


def prepare_tables(num_edges: int) -> dict[str, float]:
    """Seconds and peak GiB of ``clgnn prepare`` on Parquet tables with text ids."""
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        generate = [sys.executable, "-m", "benchmarks.generated", str(num_edges), folder, "--tables"]
        subprocess.run(generate, check=True)
        command = [sys.executable, "-m", "clgnn", "prepare", "--nodes", f"{folder}/nodes", "--edges"]
        command += [f"{folder}/edges", "--label", "label", "--out", f"{folder}/graph.clg", "--quiet"]
        began = time.perf_counter()
        child = os.posix_spawn(sys.executable, [*command, "--json"], os.environ)
        _, status, used = os.wait4(child, 0)  # of this process alone
        if status:
            raise RuntimeError(f"prepare ended with {os.waitstatus_to_exitcode(status)}")
        return {"seconds": time.perf_counter() - began, "peak_gib": used.ru_maxrss / 2**20}


def table() -> dict[str, Any]:
    """What large graphs cost; one row per measurement."""
    from rich.console import Console
    from rich.table import Table

    prepared = measure("prepare_tables", 10**7)
    found = {"prepare": prepared, "edge_bytes": {e: measure("edge_bytes", e) for e in (10**6, 10**7)}}
    shown = Table("what", "measured", "at most")
    shown.add_row("prepare, 1e7 edges, Parquet with text ids: peak GiB", f"{prepared['peak_gib']:.2f}", "1.5")
    shown.add_row("prepare, 1e7 edges, Parquet with text ids: seconds", f"{prepared['seconds']:.0f}", "")
    for edges, value in found["edge_bytes"].items():
        shown.add_row(f"bytes for each of {edges:.0e} edges in a fit", f"{value:.1f}", "28")
    Console(width=110).print(shown)
    return found


def slope(seconds: dict[int, float]) -> float:
    """Of log time over log edges."""
    logs = [(math.log(edges), math.log(value)) for edges, value in seconds.items()]
    return float(np.polyfit(*zip(*logs, strict=True), 1)[0])


if __name__ == "__main__":
    every = (peak_memory, step_seconds, edge_bytes, prepare_tables)
    function: Any = {one.__name__: one for one in every}[sys.argv[1]]
    print(json.dumps(function(*json.loads(sys.argv[2]))))
