"""Where the time of a whole fit goes: the share of each kind of work, for plain and boosted together.

python -m benchmarks.profile [--fits cora:gcn,cora:gat,..] [--epochs 100]
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pandas as pd
from torch_geometric.nn import GAT

from clgnn import CollectiveClassifier, datasets, splits
from clgnn.collective import iteration, learning
from clgnn.collective.sampling import LabelInput

FITS = ",".join(
    f"{name}:{gnn}" for name in ("cora", "pubmed", "friendster") for gnn in ("gcn", "sage", "tk", "gat")
)
PARTS = {
    "steps": (learning, "gradient_step"),
    "draws": (LabelInput, "__call__"),
    "validation": (learning._Steps, "validate"),
    "predictions": (learning, "predict"),
    "receptive fields": (learning, "receptive_field"),
    "copies of weights": (iteration.copy, "deepcopy"),
}
"""What is timed, and where it is called from. What is called inside of another part counts there alone."""


class Clock:
    """Seconds by part; those of an inner part are not those of the outer one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inside: list[str] = []

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._inside:  # the outermost counts
                return function(*args, **kwargs)
            self._inside.append(name)
            began = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[name] += time.perf_counter() - began
                self._inside.pop()

        return call


@contextmanager
def watched(clock: Clock) -> Iterator[None]:
    """All parts are timed in here."""
    with ExitStack() as stack:
        for name, (owner, attribute) in PARTS.items():
            function = clock.timed(name, getattr(owner, attribute))
            stack.enter_context(patch.object(owner, attribute, function))
        yield


def gnn_of(name: str) -> Any:
    return (lambda i, o: GAT(i, 16, num_layers=2, out_channels=o)) if name == "gat" else name


def profile(dataset: str, gnn: str, epochs: int) -> dict[str, float]:
    """Seconds of a fit, and the share of each part in %."""
    data = datasets.load(dataset)
    split = splits.paper(dataset, trial=0, data=data)
    model = CollectiveClassifier(gnn_of(gnn), max_epochs=epochs, patience=epochs)
    clock = Clock()
    with watched(clock):
        began = time.perf_counter()
        model.fit(data, split.train_mask, split.val_mask)
        total = time.perf_counter() - began
    shares = {name: 100 * clock.seconds[name] / total for name in PARTS}
    return {"seconds": total, **shares, "the rest": 100 - sum(shares.values())}


def main() -> None:
    """Prints one row per fit, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--fits", default=FITS)
    parser.add_argument(
        "--epochs", type=int, default=100, help="Of the plain GNN; an iteration has a quarter."
    )
    given = parser.parse_args()
    rows = {}
    for pair in given.fits.split(","):
        dataset, gnn = pair.split(":")
        rows[f"{dataset}, {gnn}"] = profile(dataset, gnn, given.epochs)
        print(f"{pair} done", flush=True)
    print(markdown(pd.DataFrame(rows).T))


def markdown(table: pd.DataFrame) -> str:
    lines = ["| fit | " + " | ".join(table.columns) + " |", "| --- |" + " ---: |" * len(table.columns)]
    lines += [f"| {name} | " + " | ".join(f"{v:.1f}" for v in row) + " |" for name, row in table.iterrows()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
