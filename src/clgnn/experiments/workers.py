"""The processes that trials run in: of this machine, or of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config

BACKENDS = ("loky", "ray")
"""``"loky"`` for processes of this machine, ``"ray"`` for those of a cluster."""


def connect(backend: str, address: str | None = None) -> None:
    """Gets the workers of a backend ready; there is nothing to do for those of this machine.

    Args:
        backend: one of :data:`BACKENDS`.
        address: of a Ray cluster; without one, a cluster is started on this machine.

    Raises:
        ValueError: if there is no such backend, Ray is not installed, or it does not start.

    Example:
        >>> connect("slurm")
        Traceback (most recent call last):
            ...
        ValueError: backend is 'slurm'; expected loky or ray
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend is {backend!r}; expected {' or '.join(BACKENDS)}")
    if backend == "loky":
        if address is not None:
            raise ValueError(f"address is {address!r}, which is for a Ray cluster; expected backend ray")
        return
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise ValueError('backend is ray, which is not installed; run pip install "clgnn[ray]"') from error
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # Ray has errors of many kinds for a cluster that does not answer
            said = str(error).partition("\n")[0]
            raise ValueError(
                f"Ray did not start at {address or 'this machine'} ({said}); look there"
            ) from error
    register_ray()


def elsewhere(jobs: int, backend: str) -> bool:
    """Whether trials run in other processes than this one.

    Example:
        >>> elsewhere(1, "loky"), elsewhere(1, "ray")
        (False, True)
    """
    return jobs > 1 or backend == "ray"


@contextmanager
def workers(jobs: int, backend: str) -> Iterator[None]:
    """Within it, joblib's ``Parallel`` runs in so many processes; several of them have one thread each."""
    options: dict[str, Any] = {"inner_max_num_threads": 1} if backend == "loky" and jobs > 1 else {}
    with parallel_config(backend=backend if elsewhere(jobs, backend) else "sequential", **options):
        yield
