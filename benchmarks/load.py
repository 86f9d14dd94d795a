"""Load: a ledger with 100,000 trials, eight processes that write to one, and the memory of trial after trial.

    python -m benchmarks.load ledger --trials 100000
    python -m benchmarks.load writers --processes 8 --trials 200
    python -m benchmarks.load memory --minutes 60

``memory`` runs the trials of ``compare`` and of ``reproduce`` over and over, in this process, and prints the
resident memory after each round of them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from clgnn.experiments.ledger import Ledger, read


def row(number: int, **more: Any) -> dict[str, Any]:
    """A trial as they are, with numbers that differ."""
    return {
        "key": f"{number:016x}", "dataset": f"data{number % 50}", "train_labels": 85, "test_label_percent": 0,
        "method": f"method{number // 50 % 20}", "trial": number // 1000, "status": "done",
        "settings": {"lr": 0.01, "num_samples": 10, "hidden_channels": 16, "dropout": 0.5},
        "metrics": {"accuracy": number % 997 / 997, "balanced_accuracy": 0.5, "log_loss": 1.0},
        "validation": 0.5, "iterations": [0.4, 0.5, 0.6], "seconds": 1.0, "predict_seconds": 0.1,
        "reliability": {"confidence": [0.1] * 10, "accuracy": [0.1] * 10, "count": [5] * 10},
        "peak_memory": 500.0, "versions": {"torch": "2"}, "revision": "0",
        "finished": "2026-01-01T00:00:00.000000+00:00", **more,
    }  # fmt: skip


def ledger(trials: int) -> None:
    """The seconds that a large ledger takes to be opened, to be asked what is done, and to take one more."""
    with tempfile.TemporaryDirectory() as folder:
        made = Ledger(folder)
        made.write(row(0))
        with closing(sqlite3.connect(made.path)) as connection, connection:  # all at once, as no user can
            (first,) = connection.execute("SELECT * FROM trials").fetchall()
            names = [name for _, name, *_ in connection.execute("PRAGMA table_info(trials)")]
            rows = (
                [number_of(name, value, i) for name, value in zip(names, first, strict=True)]
                for i in range(1, trials)
            )
            connection.executemany(f"INSERT INTO trials VALUES ({', '.join('?' * len(names))})", rows)
        print(f"{trials:,} trials, {made.path.stat().st_size / 2**20:.0f} MiB")
        timed("opened: which are done", made.finished)
        timed("one more is written", lambda: made.write(row(trials + 1)))
        cells = [(f"data{i}", 85, 0, f"method{j}") for i in range(50) for j in range(20)]
        settings = json.dumps(row(0)["settings"], sort_keys=True)
        plan = [(f"{i:016x}", cells[i % 1000], settings) for i in range(trials)]
        timed("a plan of all of them", lambda: made.assign(plan))
        timed("read as a table", lambda: read(folder))


def number_of(name: str, value: Any, number: int) -> Any:
    changed = row(number)
    return changed[name] if name in ("key", "dataset", "method", "trial") else value


def timed(what: str, work: Any) -> Any:
    began = time.perf_counter()
    found = work()
    print(f"{what}: {time.perf_counter() - began:.2f} s", flush=True)
    return found


def write_many(folder: str, first: int, number: int) -> None:
    """Writes trials of its own, and tries some that others write too."""
    ledger = Ledger(folder)
    for i in range(number):
        ledger.write(row(first + i))
        ledger.write(row(10**9 + i, revision=str(first)))  # all processes write these


def writers(processes: int, trials: int) -> int:
    """Several processes write to one ledger at once; nothing is lost, and nothing is there twice."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        context = multiprocessing.get_context("spawn")
        work = [
            context.Process(target=write_many, args=(folder, p * trials, trials)) for p in range(processes)
        ]
        for process in work:
            process.start()
        for process in work:
            process.join()
        there, expected = Ledger(folder).finished(), processes * trials + trials
        failed = [process.exitcode for process in work if process.exitcode]
        seconds = time.perf_counter() - began
        print(f"{processes} processes, {2 * trials} writes each, {seconds:.0f} s: {len(there):,} trials")
        return 1 if failed or len(there) != expected else 0


def resident() -> float:
    """MiB of this process now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def memory(minutes: float) -> int:
    """Trials of both kinds for some time; the memory after each round, and after the first third."""
    import torch

    from clgnn import compare, datasets
    from clgnn.experiments.reproduce import reproduce

    torch.set_num_threads(1)
    data = datasets.load("citations", num_nodes=300)
    short = {"max_epochs": 20, "iteration_epochs": 5, "num_iterations": 2, "num_samples": 3}
    began, found, trials = time.perf_counter(), [], 0
    while time.perf_counter() - began < 60 * minutes:
        with tempfile.TemporaryDirectory() as folder:
            compare(data, ["majority", "label_propagation", "ica", "gcn", "gcn+cl"], num_splits=2,
                    settings=short, folder=f"{folder}/compare")  # fmt: skip
            trials += 10
            reproduce("main", f"{folder}/reproduce", only=["cora"], methods=["random", "gcn", "gcn+cl"],
                      number=1, quick=True)  # fmt: skip
            trials += 6
        found.append(resident())
        print(
            f"{(time.perf_counter() - began) / 60:.1f} min, {trials} trials: {found[-1]:.0f} MiB", flush=True
        )
    later = found[len(found) // 3 :]
    print(f"{trials} trials: from {later[0]:.0f} to {later[-1]:.0f} MiB after the first third, "
          f"at most {max(later):.0f}")  # fmt: skip
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load")
    parser.add_argument("what", choices=["ledger", "writers", "memory"])
    parser.add_argument("--trials", type=int, default=None)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=60)
    given = parser.parse_args()
    if given.what == "ledger":
        ledger(given.trials or 100_000)
        return 0
    return writers(given.processes, given.trials or 200) if given.what == "writers" else memory(given.minutes)


if __name__ == "__main__":
    sys.exit(main())
