"""How a step grows with the graph, and what memory it takes. Each size runs in a process of its own."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS = 3
"""One process and two take turns so often."""
ACCURACIES = Path("docs/results/neighbors.json")
"""Trials that are in this file are not run again."""


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
    return _median_seconds(step)


def step_bandwidth(num_edges: int, num_samples: int = 10) -> dict[str, float]:
    """Bytes per second that a step of our GCN moves on a generated graph; of its gathers alone; of a copy.

    What a step must move: for each of its five gathers (of X W and of the hidden layer, and of their
    gradients, with h columns; of the labels) an index, a weight and a row for each edge and loop; X twice;
    the labels of the samples, drawn and gathered; a byte for each number of the hidden layer, written and
    read. A copy counts what it reads and what it writes. The gathers alone are the limit of what random rows
    allow on this machine.
    """
    classes, h, p, k, n = 5, 16, 16, num_samples, num_edges // 10
    entries = num_edges + n
    rows = entries * (4 * (4 * h + k * classes) + 5 * 8)
    nodes = 4 * n * (2 * p + 4 * k * classes) + 2 * n * k * h
    copied = _copy_bandwidth()
    alone = {width: _gather_seconds(n, entries, width) for width in (h, k * classes)}
    gathered = rows / (4 * alone[h] + alone[k * classes])
    seconds = step_seconds(num_edges, num_samples)
    return {"step": (rows + nodes) / seconds, "gather": gathered, "copy": copied, "seconds": seconds}


def _copy_bandwidth() -> float:
    """Bytes per second."""
    import torch

    source = torch.zeros(2**27)
    target = torch.empty_like(source)
    return 2 * source.nbytes / _median_seconds(lambda: target.copy_(source))


def _gather_seconds(nodes: int, entries: int, width: int) -> float:
    """The time of one weighted sum of so many random rows."""
    import torch
    import torch.nn.functional as F

    table = torch.rand(nodes, width)
    index = torch.randint(nodes, (entries,), dtype=torch.int32)
    offsets = torch.linspace(0, entries, nodes + 1, dtype=torch.float64).int()
    weight = torch.rand(entries)
    return _median_seconds(
        lambda: F.embedding_bag(
            index, table, offsets, mode="sum", per_sample_weights=weight, include_last_offset=True
        )
    )


def _median_seconds(function: Callable[[], Any], rounds: int = 5) -> float:
    """After one call that does not count."""
    times = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


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


def table(quick: bool, folder: Path) -> dict[str, Any]:
    """What large graphs cost; one row per measurement.

    Args:
        quick: whether to leave out 1e8 edges, and accuracies.
        folder: for the generated graphs, which are kept there.
    """
    from rich.console import Console
    from rich.table import Table

    from benchmarks.large import measure as in_files

    seven = str(folder / "1e7")
    found: dict[str, Any] = {"load": {"at the start": os.getloadavg()[0]}}
    rows: list[tuple[str, str, str]] = []

    def row(what: str, value: float, limit: str) -> None:
        rows.append((what, f"{value:.2f}", limit))
        console.print(*rows[-1], highlight=False)

    console = Console(width=110)
    found["prepare"] = measure("prepare_tables", 10**7)
    row("prepare, 1e7 edges, Parquet with text ids: peak GiB", found["prepare"]["peak_gib"], "at most 1.5")
    row("prepare, 1e7 edges: seconds", found["prepare"]["seconds"], "")
    found["epoch"] = in_files("epoch", seven, 10**7)
    row("an epoch in batches, 1e7 edges: peak GiB", found["epoch"]["GiB"], "at most 1.5")
    row("an epoch, 10 steps of 1,024 targets: seconds", found["epoch"]["seconds"], "")
    found["prediction"] = predicted = in_files("prediction", seven, 10**7)
    row("prediction of all nodes, 1e7 edges: peak GiB", predicted["GiB"], "at most 1.5")
    own, copies = zip(*predicted["pairs"], strict=True)
    for kind, said in (("seconds", "seconds"), ("cpu", "CPU seconds")):
        row(
            f"prediction of all nodes, 1e7 edges: {said}, median",
            statistics.median(one[kind] for one in own),
            "",
        )
    copied = statistics.median(one["seconds"] for one in copies)
    row("a plain copy, GB/s, median", predicted["columns"] / copied, "")
    for kind, said, limit in (("seconds", "bytes/s", "at least 0.2"), ("cpu", "bytes/CPU s", "")):
        ratio = statistics.median(copy[kind] / one[kind] for one, copy in predicted["pairs"])
        row(f"prediction / plain copy, {said}, median", ratio, limit)
        fewer = ratio * predicted["kept"] / predicted["columns"]
        row("the same, counting label columns as they are kept", fewer, "")
    pairs = [[in_files("epoch", seven, 10**7, 10, processes=n) for n in (1, 2)] for _ in range(ROUNDS)]
    found["processes"] = pairs
    for kind, said, limit in (("seconds", "seconds", "at most 0.65"), ("cpu", "CPU seconds of each", "")):
        ratio = statistics.median(both[kind] / alone[kind] for alone, both in pairs)
        row(f"two processes / one, an epoch, {said}, median", ratio, limit)
    if not quick:
        found["iteration"] = one = in_files("iteration", str(folder / "1e8"), 10**8)
        row("one iteration, 1e8 edges, 1e7 nodes: peak GiB", one["GiB"], "below 8")
        row(f"its {one['steps']:.0f} steps of 1,024 targets: seconds", one["steps s"], "")
        row("its draws for all nodes: seconds", one["draws s"], "")
        row("its prediction of all nodes: seconds", one["prediction s"], "")
        row("its prediction of all nodes: CPU seconds", one["prediction cpu"], "")
        row("bytes moved by this prediction, columns as float32: GB", one["columns"], "")
        row("bytes moved by this prediction, labels as they are kept: GB", one["kept"], "")
        row(f"a plain read of the same files, {one['read GB']:.2f} GB: seconds", one["read s"], "")
        found["estimate"] = _estimate(one)
        for what, value in found["estimate"].items():
            row(f"estimate, 1e9 edges, 1e8 nodes, eight machines: {what}", value, "")
        found["accuracy"] = _accuracy(row)
    found["edge_bytes"] = {e: measure("edge_bytes", e) for e in (10**6, 10**7)}
    for edges, value in found["edge_bytes"].items():
        row(f"bytes for each of {edges:.0e} edges in a fit", value, "at most 28")
    found["load"]["at the end"] = os.getloadavg()[0]
    shown = Table("generated power-law graphs, 64 features, GCN, K = 10", "measured", "must hold")
    for one_row in rows:
        shown.add_row(*one_row)
    console.print(shown)
    console.print("load average at the start and at the end:", *found["load"].values())
    return found


def _estimate(one: dict[str, float], machines: int = 8, network: float = 1.25) -> dict[str, float]:
    """What 1e9 edges would take on machines like this one, each with one process; it was never run.

    A machine does its share of the bytes at the rate that 1e8 edges had here. Then it gets the rows of the
    others: of both layers, of the predictions, and of the draws, at so many GB/s. It keeps the rows of all.
    """
    from benchmarks.generated import CLASSES
    from benchmarks.large import HIDDEN, SAMPLES, moved

    nodes = 10**8
    share = moved(10 * nodes, nodes, 64, CLASSES)["kept"] / machines
    rows = nodes / 1e9 * (4 * (2 * HIDDEN + CLASSES) + SAMPLES)
    quarters = nodes / 1e9 * (2 * -(-SAMPLES * CLASSES // 8) + 4)
    epoch = nodes // 100 / 1024 * one["steps s"] / one["steps"]
    return {
        "GB that each moves for a prediction": share,
        "its seconds for that": share / one["kept"] * one["prediction s"],
        "its seconds for the draws": 10 * one["draws s"] / machines,
        "GB that it gets from the others": rows * (machines - 1) / machines,
        f"seconds for that at {network} GB/s": rows * (machines - 1) / machines / network,
        "minutes for an epoch of 1 % labels in batches": epoch / machines / 60,
        "GB of rows and draws that each keeps": rows + quarters,
    }


def _accuracy(row: Any) -> dict[str, dict[str, float]]:
    """Rows with the difference of batches with all neighbours to the whole graph, over 5 splits.

    Beside it stand the standard error of the whole graph's accuracy, and that of the paired difference.
    """
    from benchmarks.neighbors import DATASETS, differences, error, trials

    found = {}
    for name, of in trials(ACCURACIES, DATASETS, ["whole graph", "all neighbours"]).items():
        less, whole = differences(of, "all neighbours"), error([one["boosted"] for one in of["whole graph"]])
        found[name] = {"difference": statistics.mean(less), "of accuracy": whole, "of pairs": error(less)}
        limit = f"within one standard error, {whole:.2f} (of the paired difference: {error(less):.2f})"
        row(f"accuracy, batches with all neighbours - whole graph, {name}", statistics.mean(less), limit)
    return found


def slope(seconds: dict[int, float]) -> float:
    """Of log time over log edges."""
    logs = [(math.log(edges), math.log(value)) for edges, value in seconds.items()]
    return float(np.polyfit(*zip(*logs, strict=True), 1)[0])


if __name__ == "__main__":
    every = (peak_memory, step_seconds, step_bandwidth, edge_bytes, prepare_tables)
    function: Any = {one.__name__: one for one in every}[sys.argv[1]]
    print(json.dumps(function(*json.loads(sys.argv[2]))))
