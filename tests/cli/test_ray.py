"""Trials on a Ray cluster of this machine give what they give without one."""

import subprocess
import sys

import pandas as pd
import pytest

from clgnn.data import datasets
from clgnn.data.datasets import is_here

TABLES = [
    "--nodes",
    "nodes.csv",
    "--edges",
    "edges.csv",
    "--label",
    "colour",
    "--ignore",
    "truth",
    "--ignore",
    "part",
]
COMMANDS = {
    "reproduce": ["main", "--quick", "--datasets", "cora", "--methods", "gcn,gcn+cl", "--trials", "1"],
    "compare": [*TABLES, "--methods", "gcn,gcn+cl,label_propagation", "--splits", "2", "--epochs", "5"],
    "tune": [*TABLES, "--trials", "3", "--epochs", "5"],
}
SAME = ["key", "number", "status", "state", "accuracy", "log_loss"]


def call(command, *more):
    run = [sys.executable, "-m", "clgnn", command, *COMMANDS[command], "--quiet", *more]
    return subprocess.run(run, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_trials_on_a_ray_cluster_are_those_of_this_machine(command, files):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    if command == "reproduce" and not datasets.is_here("cora"):
        pytest.skip("the files of Cora are not here")
    found = []
    for backend in ("loky", "ray"):
        done = call(command, "--out", backend, "--backend", backend)
        assert done.returncode == 0, done.stderr
        trials = pd.read_csv(files / backend / "trials.csv")
        columns = [name for name in SAME if name in trials]
        found.append(trials.sort_values(columns[0])[columns].reset_index(drop=True))
    pd.testing.assert_frame_equal(*found)
    assert len(found[0]) >= 2


@pytest.mark.parametrize("command", COMMANDS)
def test_an_address_is_for_ray(command, files):
    if command == "reproduce" and not is_here("cora"):
        pytest.skip("needs Cora's files: set CLGNN_DATA")
    done = call(command, "--address", "127.0.0.1:1", "--out", "new")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "expected backend ray" in done.stderr
    assert not (files / "new").exists()
