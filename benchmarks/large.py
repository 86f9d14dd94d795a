"""Large graphs in files: gradient steps in batches, and predictions in a stream.

``python -m benchmarks scale`` prints what these functions measure, each in a fresh process.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SAMPLES, HIDDEN = 10, 16


def peak() -> float:
    """GiB of this process at its peak, libraries and mapped pages included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def timed(run: Callable[[], object]) -> dict[str, float]:
    """The seconds that something takes, and those that a processor works for it."""
    began = time.perf_counter(), time.process_time()
    run()
    return {"seconds": time.perf_counter() - began[0], "cpu": time.process_time() - began[1]}


def copied(gigabytes: float, size: int = 2**28) -> dict[str, float]:
    """The time of a plain copy in memory that moves so much, reading and writing together."""
    source = np.ones(size // 8)
    target = np.ones_like(source)
    times = -(-int(gigabytes * 1e9) // (2 * size))

    def copy() -> None:
        for _ in range(times):
            np.copyto(target, source)

    return {kind: value * gigabytes * 1e9 / (2 * size * times) for kind, value in timed(copy).items()}


def read_rate(folder: str) -> tuple[float, float]:
    """Seconds and GB of a plain read of the files that a prediction reads."""
    block, size = bytearray(2**24), 0
    began = time.perf_counter()
    for name in ("indptr", "indices", "x"):
        with (Path(folder) / f"{name}.npy").open("rb", buffering=0) as file:
            while count := file.readinto(block):
                size += count
    return time.perf_counter() - began, size / 1e9


def moved(num_edges: int, num_nodes: int, features: int, classes: int) -> dict[str, float]:
    """GB that a prediction by a GCN of two layers, with K = 10 samples, reads and writes.

    For each edge and each node itself, a layer reads the index of the source and the columns that it gathers
    from it: h of the features and K * C of the labels in the first layer, h in the second. Features are read
    once, and what a layer gives is written. ``columns`` counts all columns as float32, as a sparse product
    has them. ``kept`` counts label columns as they are kept, in a quarter of a byte each: what is read.
    """
    labels = SAMPLES * classes
    rows = num_edges + num_nodes
    others = 4 * (2 * num_edges + rows * 2 * HIDDEN + num_nodes * (features + 2 * HIDDEN + classes))
    return {"columns": (others + 4 * rows * labels) / 1e9, "kept": (others + rows * labels / 4) / 1e9}


def problem(folder: str, edges: int) -> tuple[Any, Any]:
    """A generated graph in files, and a GCN with label columns."""
    import torch

    from benchmarks.generated import CLASSES, write_arrays
    from clgnn.collective.component import build
    from clgnn.engine.neighbors import few
    from clgnn.engine.streamed import streamed

    torch.manual_seed(0)
    graph = streamed(write_arrays(Path(folder), edges), torch.device("cpu"))
    return graph, build("gcn", few(graph), CLASSES, CLASSES, hidden_channels=HIDDEN)


def draws(graph: Any, predicted: Any) -> Any:
    """The draws of K samples from the predictions of all nodes; none is known."""
    import torch

    from clgnn.collective.inference import drawn
    from clgnn.collective.sampling import Categorical, LabelInput

    n, classes = predicted.shape
    label_input = LabelInput(Categorical(classes), "sampled", SAMPLES, "systematic")
    return drawn(label_input, graph, predicted, torch.full((n,), -1), torch.zeros(n, dtype=torch.bool), 0)


def prediction(folder: str, edges: int, rounds: int = 7) -> dict[str, Any]:
    """The prediction of all nodes; in turn, a plain copy that moves as many bytes."""
    import torch

    from benchmarks.generated import CLASSES
    from clgnn.collective.inference import predict

    graph, component = problem(folder, edges)
    labels = draws(graph, torch.zeros(graph.num_nodes, CLASSES))
    size = moved(graph.stored.num_edges, graph.num_nodes, graph.num_features, CLASSES)
    predict(component, graph, [labels])
    used = peak()
    pairs = [
        (timed(lambda: predict(component, graph, [labels])), copied(size["columns"])) for _ in range(rounds)
    ]
    return {"GiB": used, "pairs": pairs, **size}


def steps(
    graph: Any, component: Any, neighbors: int | None = None, most: int | None = None
) -> tuple[int, float]:
    """Gradient steps of 1,024 targets with K = 10: all of an epoch, or so many; how many, and seconds."""
    import torch

    from benchmarks.generated import CLASSES
    from clgnn.collective.batches import Batches, Batching
    from clgnn.collective.learning import Problem
    from clgnn.collective.sampling import Categorical, LabelInput
    from clgnn.collective.step import gradient_step

    label_input = LabelInput(Categorical(CLASSES), "sampled", SAMPLES, "systematic")
    y = torch.where(graph.stored.part("train"), torch.from_numpy(np.array(graph.stored.y)), -1)
    batching = Batching(1024, () if neighbors is None else (neighbors,))
    made = Problem(graph, y, label_input, batching=batching)
    optimizer = torch.optim.Adam(component.parameters())
    predicted = torch.zeros(graph.num_nodes, CLASSES)
    nobody = torch.zeros(graph.num_nodes, dtype=torch.bool)
    began, count = time.perf_counter(), 0
    for _, parts in Batches(made, 1, component).epoch(0, nobody, predicted):
        gradient_step(component, optimizer, parts, label_input.family.loss, 5.0, batching.num_parts)
        count += 1
        if count == most:
            break
    return count, time.perf_counter() - began


def epoch(folder: str, edges: int, neighbors: int | None = None, most: int | None = None) -> dict[str, float]:
    """An epoch in batches, or so many steps of it."""
    graph, component = problem(folder, edges)
    began = time.process_time()
    count, seconds = steps(graph, component, neighbors, most)
    return {"seconds": seconds, "cpu": time.process_time() - began, "steps": count, "GiB": peak()}


def iteration(folder: str, edges: int) -> dict[str, float]:
    """20 gradient steps with all neighbours and the prediction of all nodes; beside a plain read."""
    import torch

    from benchmarks.generated import CLASSES
    from clgnn.collective.inference import predict

    graph, component = problem(folder, edges)
    count, of_steps = steps(graph, component, None, 20)
    after_steps = peak()
    began = time.perf_counter()
    labels = draws(graph, torch.zeros(graph.num_nodes, CLASSES))
    of_draws = time.perf_counter() - began
    of_prediction = timed(lambda: predict(component, graph, [labels]))
    read, size = read_rate(folder)
    return {
        "steps": count, "steps s": of_steps, "draws s": of_draws, "prediction s": of_prediction["seconds"],
        "prediction cpu": of_prediction["cpu"], "GiB after steps": after_steps, "GiB": peak(),
        "read s": read, "read GB": size,
        **moved(graph.stored.num_edges, graph.num_nodes, graph.num_features, CLASSES),
    }  # fmt: skip


def measure(what: str, *arguments: Any, processes: int = 1) -> dict[str, Any]:
    """Runs a function of this file in a fresh process, or in several, with one thread each."""
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    start = several if processes > 1 else []
    command = [sys.executable, *start, "-m", "benchmarks.large", what, json.dumps(arguments)]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=one_thread).stdout
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def main(what: str, arguments: str) -> None:
    """Runs one measurement here."""
    from clgnn.cli.processes import joined

    with joined() as first:
        found = {"prediction": prediction, "epoch": epoch, "iteration": iteration}[what](
            *json.loads(arguments)
        )
        if first:
            print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
