"""Trials on a Ray cluster of this machine give what they give without one."""

import subprocess
import sys

import pandas as pd
import pytest

from clgnn.data import datasets


@pytest.mark.slow
def test_trials_on_a_ray_cluster_are_those_of_this_machine(tmp_path):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    if not datasets.is_here("cora"):
        pytest.skip("the files of Cora are not here")
    found = []
    for backend in ("loky", "ray"):
        out = tmp_path / backend
        command = [sys.executable, "-m", "clgnn", "reproduce", "main", "--quick", "--datasets", "cora"]
        command += ["--methods", "gcn,gcn+cl", "--trials", "1", "--jobs", "2", "--quiet", "--out", str(out)]
        done = subprocess.run([*command, "--backend", backend], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        trials = pd.read_csv(out / "trials.csv").sort_values("key")
        found.append(trials[["key", "status", "accuracy", "log_loss"]].reset_index(drop=True))
    pd.testing.assert_frame_equal(*found)
    assert (found[0]["status"] == "done").all()
