"""Properties under random input: few cases in every run of the tests, many with ``-m slow``.

``python -m pytest tests/fuzz -m slow -s --hypothesis-seed=1 --basetemp=/dev/shm/fuzz`` runs 10,000 cases of
each kind and prints how many there were, how they ended, and how long it took. ``--basetemp`` is a folder that
is emptied first; one in memory is faster, as a command waits for the disk whenever it writes.
"""

import os
import shutil
import signal
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, Verbosity, given, settings
from hypothesis import strategies as st

from clgnn.cli import main

SECONDS = 60
"""No case may take longer."""
FEW = int(os.environ.get("CLGNN_FUZZ_FEW", 30))
MANY = int(os.environ.get("CLGNN_FUZZ", 10_000))
RUNS = [
    pytest.param(FEW, id="few"),
    pytest.param(MANY, id="many", marks=pytest.mark.slow),
]
QUICK = [
    "--epochs",
    "1",
    "--iteration-epochs",
    "1",
    "--iterations",
    "1",
    "--samples",
    "1",
    "--hidden",
    "2",
    "--quiet",
]
TABLES = ["--nodes", "nodes.csv", "--edges", "edges.csv"]


def check(what, strategy, number):
    """Runs a property with so many cases; it returns in one word how a case ended.

    Few cases are always the same ones. Many are drawn from the seed of ``--hypothesis-seed``.
    """
    ends, began = Counter(), time.perf_counter()

    @settings(
        max_examples=number, derandomize=number == FEW, deadline=None, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck), verbosity=Verbosity.normal,
    )  # fmt: skip
    @given(strategy)
    def run(case):
        with limited():
            ends[what(case)] += 1
        if sum(ends.values()) % 1000 == 0:
            tell()

    def tell():
        said = ", ".join(f"{count:,} {end}" for end, count in ends.most_common())
        seconds = time.perf_counter() - began
        print(f"{what.__name__}: {sum(ends.values()):,} cases ({said}) in {seconds:.0f} s", flush=True)

    run()
    tell()
    assert sum(ends.values()) >= number, "fewer cases than asked for"
    assert len(ends) > 1 or number == FEW, "all cases end alike: this tests little"
    return ends


@st.composite
def damaged(draw, content):
    """Bytes of which one is flipped, or some are cut off, left out, doubled, swapped or new."""
    at, other = draw(st.integers(0, len(content) - 1)), draw(st.integers(0, len(content)))
    low, high = min(at, other), max(at, other)
    kind = draw(st.sampled_from(["flip", "cut", "without", "double", "swap", "new"]))
    return {
        "flip": content[:at] + bytes([content[at] ^ (1 << draw(st.integers(0, 7)))]) + content[at + 1 :],
        "cut": content[:at],
        "without": content[:low] + content[high:],
        "double": content[:high] + content[low:high] + content[high:],
        "swap": content[high:] + content[low:high] + content[:low],
        "new": content[:at] + draw(st.binary(min_size=1, max_size=8)) + content[other:],
    }[kind]


@contextmanager
def limited(seconds=SECONDS):
    """A case that hangs fails."""

    def stop(*_):
        raise TimeoutError(f"a case took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def tables(folder):
    """Twelve nodes in a ring, nine of them with a label."""
    number = range(12)
    nodes = pd.DataFrame(
        {
            "id": [f"n{i}" for i in number],
            "size": [0.5, -1.25, 3.0, 0.25, 1.5, -0.75, 2.0, 0.125, -2.5, 1.0, 0.0, 4.5],
            "shape": ["round", "square"] * 6,
            "colour": [
                *["red", "green", "red", "green", "green", "red", "red", "green", "red"],
                None,
                None,
                None,
            ],
            "part": [
                "train",
                "train",
                "train",
                "train",
                "val",
                "val",
                "test",
                "test",
                "observed",
                "",
                "",
                "",
            ],
        }
    )
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges = pd.DataFrame({"source": nodes["id"], "target": nodes["id"].shift(-1, fill_value="n0")})
    edges.to_csv(folder / "edges.csv", index=False)


def row(key, cell, trial):
    """A trial of a ledger."""
    dataset, labels, percent, method = cell
    return {
        "key": key, "dataset": dataset, "train_labels": labels, "test_label_percent": percent, "method": method, "trial": trial,
        "settings": {"lr": 0.01}, "status": "done", "metrics": {"accuracy": 0.5 + trial / 10, "balanced_accuracy": 0.5}, "validation": 0.5,
        "iterations": [0.4, 0.5], "reliability": {"confidence": [None, 0.9], "accuracy": [None, 0.8], "count": [0, 9]},
        "predictions": b"\x00\x01", "seconds": 1.0, "predict_seconds": 0.1, "peak_memory": 100.0, "versions": {"torch": "2"},
        "revision": "a", "finished": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip


class Room:
    """A folder in which a command runs, beside things that it must leave alone."""

    def __init__(self, root):
        self.root = root
        self.place = root / "work"

    def clean(self):
        """Empties the room; gives the folder to work in."""
        os.chdir(self.root.parent)
        shutil.rmtree(self.root, ignore_errors=True)
        self.place.mkdir(parents=True)
        (self.root / "bystander.txt").write_text("mine")
        os.chdir(self.place)
        return self.place

    def keep(self):
        """Keeps what is in the room now, for :meth:`restore`."""
        self.kept = self.files()

    def restore(self):
        """The room as it was kept: what came since goes, what changed or went comes back."""
        now = self.files()
        for name in sorted(now.keys() - self.kept.keys(), reverse=True):
            path = self.root / name
            path.rmdir() if path.is_dir() else path.unlink()
        for name, content in self.kept.items():
            if now.get(name, "nothing") != content:
                path = self.root / name
                path.mkdir(exist_ok=True) if content is None else path.write_bytes(content)
        os.chdir(self.place)

    def files(self):
        """All files with their content, and all folders."""
        found = sorted(self.root.rglob("*"))
        return {str(f.relative_to(self.root)): f.read_bytes() if f.is_file() else None for f in found}

    def run(self, *arguments, outputs=(), codes=(0, 2)):
        """Runs a command, which must give a result or refuse in one line; gives how it ended.

        Only files below ``outputs`` may come, change or go, and none may be left half-written.
        """
        before = self.files()
        os.chdir(self.place)
        with warnings.catch_warnings():
            warnings.simplefilter("always")  # here too, a warning is a line
            result = CliRunner().invoke(main, [str(a) for a in arguments])
        error = result.exception
        if error is not None and not isinstance(error, SystemExit):
            raise AssertionError(f"a traceback from {arguments}") from error
        assert result.exit_code in codes, (result.exit_code, result.output)
        if result.exit_code == 2:
            said = [line for line in result.output.splitlines() if line.startswith("Error: ")]
            assert len(said) == 1, result.output
            assert result.output.strip().splitlines()[-1] == said[0], result.output
            assert len(said[0]) > len("Error: ") + 5, result.output
            assert "Traceback" not in result.output
        after = self.files()
        for name in before.keys() | after.keys():
            if before.get(name, "nothing") != after.get(name, "nothing"):
                inside = Path(name).relative_to("work") if name.startswith("work/") else Path(name)
                mine = any(inside == Path(o) or Path(o) in inside.parents for o in outputs)
                assert mine, f"{name} was touched by {arguments}"
                assert not any(part.startswith(".") for part in inside.parts), f"{name} is left behind"
        return {0: "answered", 1: "failed", 2: "refused"}[result.exit_code]
