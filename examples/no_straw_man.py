"""No rival is a straw man: on the split that everybody uses, they do about as well as in their own papers.

It is the standard Planetoid split of Cora: 140 training nodes (20 per class), 500 validation and 1000 test
nodes. Each method has the settings of its own paper for this split, or its defaults if the paper has other
splits. Validation alone chooses the epoch.

    python examples/no_straw_man.py --seeds 5
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clgnn import CollectiveClassifier, datasets
from clgnn.baselines import GMNN, make
from clgnn.engine.propagation import project, propagation
from clgnn.estimators.node import NodeEstimator
from clgnn.nn import NAMES, Krylov


class KipfWelling(nn.Module):
    """Z = A dropout(ReLU(A dropout(X) W)), A = D^-1/2 (A+I) D^-1/2: with the head, their two-layer GCN."""

    def __init__(self, in_channels: int, hidden_channels: int) -> None:
        super().__init__()
        self.first = nn.Linear(in_channels, hidden_channels)
        nn.init.xavier_uniform_(self.first.weight)
        nn.init.zeros_(self.first.bias)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        a = propagation(edge_index, x.size(0), normalization="sym")
        h = a @ project(F.dropout(x, 0.5, self.training), self.first.weight) + self.first.bias
        return a @ F.dropout(torch.relu(h), 0.5, self.training)


# It gets a name, so that its last layer is the head and has the initial weights of its authors.
NAMES["krylov13"] = partial(Krylov, num_powers=13)


def gcn(seed: int) -> CollectiveClassifier:
    return CollectiveClassifier(
        KipfWelling, num_iterations=0, hidden_channels=16, max_epochs=200, patience=200, seed=seed
    )


def gmnn(seed: int) -> GMNN:
    return GMNN(predict_with="q", seed=seed)


def snowball(seed: int) -> CollectiveClassifier:
    return CollectiveClassifier(
        "tk",
        num_iterations=0,
        hidden_channels=128,
        num_layers=3,
        dropout=0.51381,
        lr=1.6641e-3,
        weight_decay=1.4849e-3,
        optimizer="rmsprop",
        max_epochs=1000,
        seed=seed,
    )


def truncated_krylov(seed: int) -> CollectiveClassifier:
    return CollectiveClassifier(
        "krylov13",
        num_iterations=0,
        hidden_channels=512,
        num_layers=1,
        dropout=0.97781,
        lr=1.4652e-3,
        weight_decay=1.1055e-2,
        optimizer="rmsprop",
        max_epochs=1000,
        seed=seed,
    )


def with_defaults(name: str) -> Callable[[int], NodeEstimator]:
    """A rival whose paper has other graphs or splits, with its defaults."""
    return lambda seed: make(name, test_labels="none", seed=seed)


METHODS: dict[str, tuple[str, float | None, Callable[[int], NodeEstimator]]] = {
    "gcn": ("GCN (Kipf and Welling 2017)", 81.5, gcn),
    "gmnn": ("GMNN (Qu, Bengio and Tang 2019)", 83.7, gmnn),
    "snowball": ("Snowball (Luan et al. 2019)", 83.1, snowball),
    "krylov": ("Truncated Krylov (Luan et al. 2019)", 83.6, truncated_krylov),
    "hopf": ("HOPF, I-NIP-mean (Vijayan et al. 2018)", None, with_defaults("hopf")),
    "column_network": ("Column network (Pham et al. 2017)", None, with_defaults("column_network")),
    "relational_pooling": (
        "Relational pooling (Murphy et al. 2019)",
        None,
        with_defaults("relational_pooling"),
    ),
    "deep_collective_inference": (
        "Deep collective inference (Moore and Neville 2017)",
        None,
        with_defaults("deep_collective_inference"),
    ),
    "spn": ("SPN (Qu, Cai and Tang 2022)", None, with_defaults("spn")),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Runs the rivals on Cora's standard split, beside the numbers of their own papers."
    )
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds to run, from 0 on")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options = parser.parse_args()
    data = datasets.load("cora")
    train, val, test = range(140), range(140, 640), range(1708, 2708)
    print("| method | published | here, mean | standard deviation | seeds | CPU seconds per seed |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    for method in options.methods:
        name, published, make = METHODS[method]
        began = time.process_time()
        models = [make(seed).fit(data, train, val) for seed in range(options.seeds)]
        seconds = (time.process_time() - began) / options.seeds
        accuracy = 100 * np.array([model.score(data, test) for model in models])
        figures = f"{accuracy.mean():.2f} | {accuracy.std():.2f} | {options.seeds} | {seconds:.0f}"
        print(f"| {name} | {published or 'none'} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
