"""Large graphs: epochs in batches and predictions in a stream, on generated graphs in files.

``python -m benchmarks.large graph 1e7 FOLDER`` prints one row for each measurement; the graph is generated
into the folder if it is not there. ``python -m benchmarks.large accuracy FILE`` compares batches with the
whole graph; it goes on where it was.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

console = Console(width=110)
SETTINGS = {"num_iterations": 1, "iteration_epochs": 1, "max_epochs": 1, "calibrate": False}
SPLITS = 5


def peak() -> float:
    """GiB of this process at its peak, libraries and mapped pages included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def copy_rate(size: int = 2**28) -> float:
    """GB per second of a plain copy in memory, read and written."""
    source = np.ones(size // 8)
    target = np.empty_like(source)
    rates = []
    for _ in range(5):
        began = time.perf_counter()
        np.copyto(target, source)
        rates.append(2 * size / 1e9 / (time.perf_counter() - began))
    return max(rates)


def problem(folder: str, edges: int) -> tuple[Any, Any, Any]:
    """A generated graph, a GCN with label columns, and the draws of K = 10 samples from nothing."""
    import torch

    from benchmarks.generated import CLASSES, write_arrays
    from clgnn.collective.component import build
    from clgnn.collective.inference import drawn
    from clgnn.collective.sampling import Categorical, LabelInput
    from clgnn.engine.neighbors import few
    from clgnn.engine.streamed import streamed

    torch.manual_seed(0)
    graph = streamed(write_arrays(Path(folder), edges), torch.device("cpu"))
    component = build("gcn", few(graph), CLASSES, CLASSES).eval()
    label_input = LabelInput(Categorical(CLASSES), "uniform", 10, "systematic")
    y = torch.full((graph.num_nodes,), -1)
    predicted = torch.zeros(graph.num_nodes, CLASSES)
    labels = drawn(label_input, graph, predicted, y, torch.zeros(graph.num_nodes, dtype=torch.bool), 0)
    return graph, component, labels


def prediction(folder: str, edges: int) -> dict[str, float]:
    """The prediction of all nodes with K = 10 samples, and the bytes that its gathers move."""
    from clgnn.collective.inference import predict

    graph, component, labels = problem(folder, edges)
    began = time.perf_counter()
    predict(component, graph, [labels])
    seconds = time.perf_counter() - began
    h, c, k = 16, labels.size(2), labels.size(1)
    columns = h + k * c + h  # of the features, of the labels, and of the hidden layer
    moved = 4 * (graph.stored.num_edges + graph.num_nodes) * (columns + 2) + 4 * graph.num_nodes * (64 + h)
    return {"seconds": seconds, "GB/s": moved / 1e9 / seconds, "copy GB/s": copy_rate(), "GiB": peak()}


def epoch(folder: str, edges: int, neighbors: int | None = None, most: int | None = None) -> dict[str, float]:
    """Steps of 1,024 targets with K = 10: all of an epoch, or so many."""
    import torch

    from benchmarks.generated import CLASSES, write_arrays
    from clgnn.collective.batches import Batches, Batching
    from clgnn.collective.component import build
    from clgnn.collective.learning import Problem
    from clgnn.collective.sampling import Categorical, LabelInput
    from clgnn.collective.step import gradient_step
    from clgnn.engine.neighbors import few
    from clgnn.engine.streamed import streamed

    stored = write_arrays(Path(folder), edges)
    graph = streamed(stored, torch.device("cpu"))
    label_input = LabelInput(Categorical(CLASSES), "sampled", 10, "systematic")
    y = torch.where(stored.part("train"), torch.from_numpy(np.array(stored.y)), -1)
    batching = Batching(1024, () if neighbors is None else (neighbors,))
    made = Problem(graph, y, label_input, batching=batching)
    component = build("gcn", few(graph), CLASSES, CLASSES)
    optimizer = torch.optim.Adam(component.parameters())
    predicted = graph.room(graph.num_nodes, CLASSES)
    nobody = torch.zeros(graph.num_nodes, dtype=torch.bool)
    began, steps = time.perf_counter(), 0
    for _, parts in Batches(made, 1, component).epoch(0, nobody, predicted):
        gradient_step(component, optimizer, parts, label_input.family.loss, 5.0, batching.num_parts)
        steps += 1
        if steps == most:
            break
    return {"seconds": time.perf_counter() - began, "steps": steps, "GiB": peak()}


def measure(what: str, *arguments: Any, processes: int = 1) -> dict[str, float]:
    """Runs a function of this file in a fresh process, or in several."""
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    start = several if processes > 1 else []
    command = [sys.executable, *start, "-m", "benchmarks.large", "one", what, json.dumps(arguments)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, float] = json.loads(out.splitlines()[-1])
    return found


@click.group()
def main() -> None:
    """Measure large graphs."""


@main.command()
@click.argument("what")
@click.argument("arguments")
def one(what: str, arguments: str) -> None:
    """Run one measurement here."""
    from clgnn.cli.processes import joined

    with joined() as first:
        found = {"prediction": prediction, "epoch": epoch}[what](*json.loads(arguments))
        if first:
            print(json.dumps(found))


@main.command()
@click.argument("edges", type=float)
@click.argument("folder", type=click.Path(path_type=Path))
def graph(edges: float, folder: Path) -> None:
    """Of a graph of so many directed EDGES in a FOLDER: an epoch in batches, and all predictions."""
    size, path = int(edges), str(folder)
    table = Table("what", "seconds", "peak GiB", "note", title=f"{size:.0e} edges, mapped from files")
    all_steps = None if size <= 10**7 else 20
    for name, drawn in (("all neighbours", None), ("10 neighbours", 10)):
        found = measure("epoch", path, size, drawn, all_steps)
        each = found["seconds"] / found["steps"]
        note = f"{found['steps']:.0f} steps of 1,024 targets, {1000 * each:.0f} ms each"
        table.add_row(f"batches, {name}", f"{found['seconds']:.1f}", f"{found['GiB']:.2f}", note)
    drawn, steps = 10, all_steps
    alone, both = (measure("epoch", path, size, drawn, steps, processes=n)["seconds"] for n in (1, 2))
    table.add_row(
        "two processes / one, 10 neighbours", f"{both:.1f} / {alone:.1f}", "", f"{both / alone:.2f}"
    )
    found = measure("prediction", path, size)
    note = f"{found['GB/s']:.2f} GB/s, {found['GB/s'] / found['copy GB/s']:.2f} of a plain copy (>= 0.2)"
    table.add_row("prediction of all nodes, K = 10", f"{found['seconds']:.1f}", f"{found['GiB']:.2f}", note)
    console.print(table)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--datasets", "names", default="cora,pubmed", help="With commas in between.")
@click.option("--batch-size", default=32)
@click.option("--steps", default=400, help="Gradient steps of the plain GNN, in batches and on the whole.")
def accuracy(file: Path, names: str, batch_size: int, steps: int) -> None:
    """Test accuracy of batches with all neighbours beside that of the whole graph, over 5 splits.

    Batches have as many gradient steps as the whole graph, or as many epochs, which are more steps.
    """
    from clgnn import CollectiveClassifier, datasets, splits

    done = json.loads(file.read_text()) if file.exists() else {}
    for name in names.split(","):
        data = datasets.load(name)
        for trial in range(SPLITS):
            split = splits.paper(name, trial=trial, data=data)
            in_epoch = -(-int(split.train_mask.sum()) // batch_size)
            for way, options, most in (
                ("whole", {}, steps),
                ("batches", {"batch_size": batch_size}, -(-steps // in_epoch)),
                ("epochs", {"batch_size": batch_size}, steps),
            ):
                key = f"{name} {way} {trial} {batch_size} {steps}"
                if key not in done:
                    model = CollectiveClassifier(num_iterations=2, max_epochs=most, patience=most, seed=trial)
                    model.fit(data, split.train_mask, split.val_mask, **options)
                    done[key] = model.score(data, split.test_mask)
                    file.write_text(json.dumps(done, indent=1) + "\n")
    table = Table("dataset", "batches with as many", "whole graph", "batches", "difference", "standard error")
    for name in names.split(","):
        ways = ("whole", "batches", "epochs")
        rows = {w: [done[f"{name} {w} {t} {batch_size} {steps}"] for t in range(SPLITS)] for w in ways}
        for way, said in (("batches", "steps"), ("epochs", "epochs")):
            differ = [100 * (b - a) for a, b in zip(rows["whole"], rows[way], strict=True)]
            means = [f"{100 * statistics.mean(rows[w]):.1f}" for w in ("whole", way)]
            error = statistics.stdev(differ) / SPLITS**0.5
            table.add_row(name, said, *means, f"{statistics.mean(differ):+.1f}", f"{error:.1f}")
    console.print(table)


if __name__ == "__main__":
    main()
