"""Fits in batches, and in several processes of this machine or of others, which torch starts."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import click

from clgnn.cli.options import Command, Refused, option

_GROUP = "Large graphs"
_WAIT = timedelta(minutes=10)


def _counts(context: click.Context, parameter: click.Parameter, value: str | None) -> list[int] | None:
    """Positive integers with commas in between."""
    if value is None:
        return None
    try:
        found = [int(part) for part in value.split(",")]
    except ValueError:
        found = [0]
    if min(found) < 1:
        raise click.BadParameter(f"{value!r}; expected a number, or one for each hop: 10 or 10,5")
    return found


_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--batch-size", {"type": click.IntRange(1), "help": "Learn from so many labels at a time, each with its "
     "neighbourhood.  [default: all of them]"}),
    ("--neighbors", {"callback": _counts, "metavar": "N[,N..]", "help": "Draw so many neighbours of each "
     "node for a batch, for each hop or for all.  [default: all neighbours]"}),
    ("--parts", {"default": 4, "type": click.IntRange(1), "help": "Compute a batch in so many parts, which "
     "several processes share."}),
    ("--processes", {"default": 1, "type": click.IntRange(1), "help": "Start so many processes; their number "
     "does not change the result."}),
)  # fmt: skip


def batch_options(command: Command) -> Command:
    """How a fit goes through a graph that is too large for steps on the whole of it."""
    for name, about in reversed(_OPTIONS):
        command = option(name, group=_GROUP, **about)(command)
    return command


def batch_settings(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``fit`` that the options say; none if they say nothing."""
    size, drawn, parts = (options.pop(name) for name in ("batch_size", "neighbors", "parts"))
    if size is None and drawn is None:
        return {}
    return {"batch_size": size, "num_neighbors": drawn, "num_parts": parts}


def started() -> bool:
    """Whether this is one of several processes that torch has started."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def launch(number: int, arguments: Sequence[str] | None = None) -> None:
    """Runs this command in so many processes. If one of them ends, all do, and one line says so."""
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.getLogger("torch.distributed").setLevel(logging.CRITICAL)
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // number)))
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=number,
        run_id="clgnn",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        monitor_interval=0.1,
    )
    command = ["-m", "clgnn", *(sys.argv[1:] if arguments is None else arguments)]
    try:
        elastic_launch(config, sys.executable)(*command)
    except ChildFailedError as error:
        rank, failure = min(error.failures.items(), key=lambda item: item[1].timestamp)
        if failure.exitcode == 2:  # it has said why
            raise click.exceptions.Exit(2) from None
        how = f"signal {-failure.exitcode}" if failure.exitcode < 0 else f"exit code {failure.exitcode}"
        raise Refused(
            f"process {rank} of {number} ended ({how}), and the others with it; the same command with "
            "--resume goes on where it was"
        ) from None


@contextmanager
def joined() -> Iterator[bool]:
    """Joins the processes that torch has started, if it has; gives whether this is the first of them.

    The others print nothing. What was made inside must be gone at the end, or a process may not end.
    """
    if not started():
        yield True
        return
    import torch
    import torch.distributed as dist

    first = int(os.environ["RANK"]) == 0
    if not first:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo", timeout=_WAIT)
    try:
        yield first
    except RuntimeError as error:
        if isinstance(error, dist.DistError) or "gloo" in str(error):  # another one has ended
            os._exit(1)
        raise
    gc.collect()
    dist.barrier()
    dist.destroy_process_group()
