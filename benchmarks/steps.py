"""One training step (forward, backward, update), with and without collective learning."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from benchmarks.baselines import PLAIN
from clgnn import datasets, splits
from clgnn.collective.averaging import average
from clgnn.collective.component import build
from clgnn.collective.sampling import Categorical, LabelInput
from clgnn.collective.step import Part, gradient_step
from clgnn.data.graph import Graph, as_graph
from clgnn.engine.field import receptive_field
from clgnn.engine.runner import Precision
from clgnn.nn import SAGE

Step = Callable[[], Any]

LIMITS = [  # (what, its step, against, at most on Cora and on Pubmed)
    ("our GCN with CL / PyG GCN", "gcn CL", "GCNConv", 0.5, 0.4),
    ("our SAGE with CL / PyG SAGE", "sage CL", "SAGEConv", 1, 1),
    ("our Snowball with CL / dense Snowball", "tk CL", "dense Snowball", 1, 1),
    ("our GCN with CL / our GCN", "gcn CL", "gcn", 4, 4),
    ("our Snowball with CL / our Snowball", "tk CL", "tk", 2.5, 3),
    ("GCNConv with CL / GCNConv", "GCNConv CL", "GCNConv", 1.8, 2),
    ("SAGEConv with CL / SAGEConv", "SAGEConv CL", "SAGEConv", 2.5, 2.5),
    ("GINConv with CL / GINConv", "GINConv CL", "GINConv", 2.5, 2.5),
    ("TransformerConv with CL / without", "TransformerConv CL", "TransformerConv", 3.5, 3.5),
    ("GATConv with CL / without", "GATConv CL", "GATConv", 5, 5),
    (
        "TransformerConv with CL / without, everywhere",
        "TransformerConv CL everywhere",
        "TransformerConv",
        4,
        4,
    ),
    ("GATConv with CL / without, everywhere", "GATConv CL everywhere", "GATConv", 4, 4),
    ("systematic draws / iid draws", "systematic draws", "iid draws", 2, 2),
]  # fmt: skip


def _sage(i: int, o: int) -> SAGE:
    return SAGE(i, 16, o, num_neighbors=0)


def plain_step(module: torch.nn.Module, x: torch.Tensor, data: Data, train: torch.Tensor) -> Step:
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)

    def step() -> None:
        module.train()
        optimizer.zero_grad()
        F.cross_entropy(module(x, data.edge_index)[train], data.y[train]).backward()
        optimizer.step()

    return step


def our_step(
    gnn: Any,
    graph: Graph,
    y: torch.Tensor,
    num_samples: int,
    loop: bool = False,
    everywhere: bool = False,
    precision: Precision = "float32",
) -> Step:
    """``num_samples=0`` is the plain GNN. Draws, masks and clipping are part of the step.

    As in a fit, it runs on the part of the graph that the labels see; ``everywhere`` on all of it.
    """
    classes = int(y.max()) + 1
    kind = "sampled" if num_samples else "none"
    label_input = LabelInput(Categorical(classes), kind, num_samples, "systematic")
    component = build(gnn, graph, label_input.columns, classes, precision=precision)
    if loop:
        component.runner.at_once = False
    optimizer = torch.optim.Adam(component.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(0)
    predicted = torch.randn(len(y), classes, generator=generator)
    if not everywhere:
        graph, nodes = receptive_field(component.runner, graph, y >= 0, label_input.columns)
        y, predicted = y[nodes], predicted[nodes]
    shown = torch.zeros(len(y), dtype=torch.bool)

    def step() -> None:
        labels = label_input(predicted, y, shown, generator)
        gradient_step(
            component, optimizer, [(0, Part(graph, y, shown, labels))], label_input.family.loss, 5.0
        )

    return step


def steps(name: str, num_samples: int = 10) -> dict[str, Step]:
    """Every contender on a dataset."""
    data = datasets.load(name)
    graph = as_graph(data)
    train = splits.paper(name, trial=0, data=data).train_mask
    y = torch.where(train, data.y, -1)
    classes = int(data.y.max()) + 1
    x = graph.dense_x
    made: dict[str, Step] = {
        key: plain_step(make(x.size(1), classes), x, data, train) for key, make in PLAIN.items()
    }
    for key in ("GCNConv", "SAGEConv", "GINConv", "TransformerConv", "GATConv"):
        made[f"{key} CL"] = our_step(PLAIN[key], graph, y, num_samples)
        made[f"{key} CL everywhere"] = our_step(PLAIN[key], graph, y, num_samples, everywhere=True)
        made[f"{key} CL bfloat16"] = our_step(PLAIN[key], graph, y, num_samples, precision="bfloat16")
        made[f"{key} CL loop"] = our_step(PLAIN[key], graph, y, num_samples, loop=True, everywhere=True)
    for key, gnn in {"gcn": "gcn", "sage": _sage, "tk": "tk", "krylov": "krylov", "gin": "gin"}.items():
        made[key] = our_step(gnn, graph, y, 0)
        made[f"{key} CL"] = our_step(gnn, graph, y, num_samples)
        made[f"{key} CL bfloat16"] = our_step(gnn, graph, y, num_samples, precision="bfloat16")
        made[f"{key} everywhere"] = our_step(gnn, graph, y, 0, everywhere=True)
        made[f"{key} CL everywhere"] = our_step(gnn, graph, y, num_samples, everywhere=True)
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(len(data.y), classes, generator=generator)
    for sampling in ("iid", "systematic"):
        draw = LabelInput(Categorical(classes), "sampled", num_samples, sampling)  # type: ignore[arg-type]
        made[f"{sampling} draws"] = partial(draw, logits, y, torch.zeros(len(y), dtype=torch.bool), generator)
    return made


def interleaved(made: dict[str, Step], rounds: int) -> dict[str, float]:
    """The median seconds of each, all of them in turn in every round."""
    for step in made.values():
        step()
    times: dict[str, list[float]] = {key: [] for key in made}
    for _ in range(rounds):
        for key, step in made.items():
            began = time.perf_counter()
            step()
            times[key].append(time.perf_counter() - began)
    return {key: statistics.median(values) for key, values in times.items()}


def variance_ratio(repeats: int = 200) -> dict[str, float]:
    """The variance of the averaged logits on Cora: systematic draws, K = 4, against iid, K = 10."""
    data = datasets.load("cora")
    graph = as_graph(data)
    family = Categorical(7)
    torch.manual_seed(0)
    component = build("gcn", graph, 7, 7)
    # a model that uses labels: trained on soft predictions of a plain one
    y = torch.where(torch.arange(len(data.y)) < 640, data.y, -1)
    optimizer = torch.optim.Adam(component.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(0)
    shown = torch.zeros(len(y), dtype=torch.bool)
    predicted = F.one_hot(data.y, 7) * 1.5 + torch.randn(len(y), 7, generator=generator)
    sampled = LabelInput(family, "sampled", 10, "systematic")
    for _ in range(100):
        labels = sampled(predicted, y, shown, generator)
        gradient_step(component, optimizer, [(0, Part(graph, y, shown, labels))], family.loss, 5.0)
    component.eval()
    result = {}
    for name, sampling, k in (
        ("systematic 4", "systematic", 4),
        ("iid 10", "iid", 10),
        ("systematic 10", "systematic", 10),
    ):
        draw = LabelInput(family, "sampled", k, sampling)  # type: ignore[arg-type]
        with torch.no_grad():
            outputs = [
                average(component, graph, draw(predicted, y, shown, generator)) for _ in range(repeats)
            ]
        result[name] = torch.stack(outputs).var(dim=0).mean().item()
    return result
