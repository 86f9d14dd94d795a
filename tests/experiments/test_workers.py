"""Where trials run, and what is refused before any of them does."""

import sys
import types

import pytest
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from clgnn.experiments.workers import connect, elsewhere, workers


@pytest.mark.parametrize(
    ("backend", "address", "message"),
    [("slurm", None, "expected loky or ray"), ("loky", "127.0.0.1:1", "expected backend ray")],
)
def test_what_can_not_be_is_refused(backend, address, message):
    with pytest.raises(ValueError, match=message):
        connect(backend, address)


def test_ray_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r'pip install "clgnn\[ray\]"'):
        connect("ray")


def test_a_cluster_that_does_not_answer(monkeypatch):
    def init(**options):
        raise RuntimeError("timed out\nwith a long trace")

    ray = types.SimpleNamespace(is_initialized=lambda: False, init=init)
    for name in ("ray", "ray.util", "ray.util.joblib"):
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(register_ray=None))
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(ValueError, match=r"^Ray did not start at there:1 \(timed out\); look there$"):
        connect("ray", "there:1")


def test_one_job_stays_in_this_process_and_two_do_not():
    assert not elsewhere(1, "loky")
    assert elsewhere(2, "loky")
    with workers(1, "loky"):
        assert type(get_active_backend()[0]).__name__ == "SequentialBackend"
        here = []
        Parallel(n_jobs=1)(delayed(here.append)(i) for i in range(3))
        assert here == [0, 1, 2]
    with workers(2, "loky"):
        backend, _ = get_active_backend()
        assert type(backend).__name__ == "LokyBackend"
        assert backend.inner_max_num_threads == 1
