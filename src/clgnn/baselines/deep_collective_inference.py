"""Deep collective inference: an LSTM over a node's neighbours (Moore and Neville 2017)."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from clgnn.baselines.rival import Rival
from clgnn.baselines.sequences import Neighbors
from clgnn.collective.inference import PREDICTION
from clgnn.collective.learning import Epoch, Validation, Verdict
from clgnn.collective.sampling import stream
from clgnn.data.graph import Graph, known
from clgnn.engine.propagation import project
from clgnn.estimators.node import OnEpoch
from clgnn.estimators.recursion import OPTIMIZERS
from clgnn.estimators.settings import Expected, count

_AT_ONCE = 8192
"""So many sequences run together in a prediction."""


class _Network(nn.Module):
    """An LSTM on the embedded features and the labels of a sequence of nodes; its last state is read."""

    def __init__(self, features: int, classes: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.embed = nn.Linear(features, hidden, bias=False)
        self.lstm = nn.LSTM(hidden + classes, hidden, batch_first=True)
        self.last = nn.Linear(hidden, classes)
        self.dropout = dropout

    def forward(self, x: Tensor, labels: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        embedded = F.dropout(project(x, self.embed.weight), self.dropout, self.training)
        own = torch.arange(index.size(1), device=index.device) == (lengths - 1).unsqueeze(1)
        seen = labels[index] * ~own.unsqueeze(2)  # a node does not see its own label
        steps = torch.cat([embedded[index], seen], dim=2)
        packed = pack_padded_sequence(steps, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (state, _) = self.lstm(packed)
        out: Tensor = self.last(F.dropout(state[0], self.dropout, self.training))
        return out


@dataclass(repr=False, eq=False)
class DeepCollectiveInference(Rival):
    r"""An LSTM reads a node's neighbours in a random order, with their labels, and then the node itself.

    .. math::
        s_v = (u_{\pi(1)}, .., u_{\pi(d)}, v), \qquad
        P(y_v)^{(t)} = \sigma(W \, \mathrm{LSTM}([E x_u | \hat y_u^{(t-1)}]_{u \in s_v}) + b)

    In iteration 0 the labels are those that are observed, and zeros. Iteration t has the predictions of
    t - 1 in their place, and goes on from its weights. A node's own label is never input. Each gradient
    step has new orders, which makes new examples of the same nodes. Rare classes are repeated, each time in
    another order, until all classes are equally frequent. (The authors also swap neighbours between such
    repetitions, or weigh the loss: see ``class_weight``.) A prediction is the mean over ``num_orders``
    orders. The authors have X itself in the sequences. Here the embedding E stands before the LSTM, so that X
    is multiplied once, and not for each neighbour.

    Args:
        num_iterations: T; 0 is their DRI, without predicted labels.
        num_orders: the orders that a prediction is averaged over.
        max_neighbors: a node with more of them has a random part, in each order another one.
        balance: whether rare classes are repeated.
        hidden_channels, dropout, lr, weight_decay, optimizer: of the network.
        max_epochs: of each iteration; each is one step on all training nodes.
        patience: an iteration ends after so many epochs without a better validation metric.
        max_grad_norm: gradients are clipped to this norm.
        class_weight: None, ``"balanced"``, or a weight for each class, in the loss.
        device: ``"auto"`` takes a GPU if there is one.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`.

    Cost: T + 1 trainings. A step is an LSTM over at most ``max_neighbors + 1`` nodes, for all training nodes
    at once.

    References:
        Moore and Neville: Deep Collective Inference, 2017.

    Example:
        >>> from clgnn import datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.random(data, train_labels=60, test_nodes=100, val_nodes=50)
        >>> model = DeepCollectiveInference(num_iterations=1, max_epochs=5)
        >>> model = model.fit(data, split.train_mask, split.val_mask)
        >>> model.predict_proba(data, observed_mask=split.train_mask).shape
        torch.Size([300, 5])
    """

    num_iterations: int = 3
    num_orders: int = 5
    max_neighbors: int = 20
    balance: bool = True
    hidden_channels: int = 32
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-4
    optimizer: Literal["adam", "adamw", "rmsprop"] = "adam"
    max_epochs: int = 200
    patience: int = 50
    max_grad_norm: float = 5.0
    class_weight: Any = None
    device: str = "auto"

    _learned: ClassVar[tuple[str, ...]] = ("networks_",)
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {
        "balance": (True, False),
        "optimizer": tuple(OPTIMIZERS),
    }
    _expected: ClassVar[dict[str, Expected]] = {
        "num_iterations": count(0),
        "num_orders": count(),
        "max_neighbors": count(),
    }

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        around = Neighbors.of(graph)
        shown = [y if self.sees_labels() else torch.full_like(y, -1)]  # to learn by, and to be judged by
        if validation is not None:
            shown.append(validation.y)
        inputs = [self._labels(seen, None) for seen in shown]
        self.networks_: list[_Network] = []
        verdicts: list[Verdict] = []
        module_seed = int(np.random.SeedSequence([self.seed, 0]).generate_state(1)[0])
        # Dropout and initial weights draw from torch's global generators: seeded here, restored after.
        with torch.random.fork_rng():
            torch.manual_seed(module_seed)
            for t in range(self.num_iterations + 1):
                network = copy.deepcopy(self.networks_[-1]) if t else self._blank("networks_", {})
                assert isinstance(network, _Network)
                found = self._train(t, network.to(y.device), graph, around, y, inputs, validation, on_epoch)
                self.networks_.append(network)
                verdicts += [] if found is None else [found]
                if t < self.num_iterations:
                    nodes = torch.arange(graph.num_nodes, device=y.device)
                    inputs = [
                        self._labels(seen, self._predict(t, network, graph, around, labels, nodes))
                        for seen, labels in zip(shown, inputs, strict=True)
                    ]
        if verdicts:
            best = max(range(len(verdicts)), key=lambda t: verdicts[t])
            self.best_score_ = verdicts[best].metric
            self.networks_ = self.networks_[: best + 1]

    def _train(
        self,
        t: int,
        network: _Network,
        graph: Graph,
        around: Neighbors,
        y: Tensor,
        inputs: list[Tensor],
        validation: Validation | None,
        on_epoch: OnEpoch,
    ) -> Verdict | None:
        """Iteration t: from the weights that it starts with to those of the best epoch."""
        made = OPTIMIZERS[self.optimizer](network.parameters(), lr=self.lr, weight_decay=self.weight_decay)
        weights = self._class_weights
        weight = None if weights is None else graph.x.new_tensor(weights)
        best: Verdict | None = None
        best_epoch, state = 0, None
        began = time.perf_counter()
        for epoch in range(self.max_epochs):
            generator = stream(y.device, self.seed, 0, t, epoch)
            nodes = repeated(y, generator) if self.balance else known(y).nonzero().squeeze(1)
            sequences = around.sequences(nodes, generator, self.max_neighbors)
            network.train()
            made.zero_grad()
            out = network(graph.x, inputs[0], *sequences)
            loss = F.cross_entropy(out, y[nodes], weight=weight)
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), self.max_grad_norm)
            made.step()
            metric = math.nan
            if validation is not None:
                judged = validation.judged.nonzero().squeeze(1)
                verdict = validation.rank(self._predict(t, network, graph, around, inputs[1], judged))
                metric = verdict.metric
                if best is None or verdict > best:
                    best, best_epoch, state = verdict, epoch, copy.deepcopy(network.state_dict())
            on_epoch(Epoch(t, epoch, loss.item(), metric, time.perf_counter() - began))
            if validation is not None and epoch - best_epoch >= self.patience:
                break
        if state is not None and best is not None:
            network.load_state_dict(state)
            columns = {f"val_{self.metric_name}": best.metric, "val_loss": -best.closeness}
            self._judged.append({"iteration": t, "epoch": best_epoch, **columns})
        network.eval()
        return best

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        *_, last = self._stages(graph, y)
        return last

    def _stages(self, graph: Graph, y: Tensor) -> Iterator[Tensor]:
        around, predicted = Neighbors.of(graph), None
        nodes = torch.arange(graph.num_nodes, device=y.device)
        for t, network in enumerate(self.networks_):
            labels = self._labels(y, predicted)
            predicted = self._predict(t, network.to(y.device), graph, around, labels, nodes)
            yield predicted

    @property
    def best_iteration_(self) -> int:
        self._check_fitted()
        return len(self.networks_) - 1

    @torch.no_grad()
    def _predict(
        self, t: int, network: _Network, graph: Graph, around: Neighbors, labels: Tensor, nodes: Tensor
    ) -> Tensor:
        """The mean over orders ``[n, C]``, for some nodes; the orders depend on the seed and on t alone."""
        network.eval()
        total = torch.zeros(len(nodes), self._num_classes, device=labels.device)
        for number in range(self.num_orders):
            keys = around.keys(stream(labels.device, self.seed, PREDICTION, t, number))
            parts = [
                network(graph.x, labels, *around.sequences(some, keys, self.max_neighbors))
                for some in nodes.split(_AT_ONCE)
            ]
            total += torch.cat(parts).softmax(dim=1)
        return total / self.num_orders

    def _labels(self, y: Tensor, predicted: Tensor | None) -> Tensor:
        """What a neighbour's label looks like, ``[N, C]``: the true one, the predicted one, or zeros."""
        truth = F.one_hot(y + 1, self._num_classes + 1)[:, 1:].float()
        return truth if predicted is None else torch.where(known(y).unsqueeze(1), truth, predicted)

    def planned_epochs(self) -> list[int]:
        return [self.max_epochs] * (self.num_iterations + 1)

    def _blank(self, name: str, state: Mapping[str, Tensor], index: int = 0) -> nn.Module:
        return _Network(self.n_features_in_, self._num_classes, self.hidden_channels, self.dropout)


def repeated(y: Tensor, generator: torch.Generator) -> Tensor:
    """The nodes with a label, those of rare classes repeated until all classes are equally frequent.

    Example:
        >>> nodes = repeated(torch.tensor([0, 1, 1, -1, 1]), torch.Generator().manual_seed(0))
        >>> nodes.bincount(minlength=5)
        tensor([3, 1, 1, 0, 1])
    """
    counts = y[known(y)].bincount()
    most = int(counts.max())
    parts = []
    for c in counts.nonzero().squeeze(1).tolist():
        nodes = (y == c).nonzero().squeeze(1)
        order = torch.randperm(len(nodes), generator=generator, device=generator.device)
        parts.append(nodes[order].repeat(-(-most // len(nodes)))[:most])
    return torch.cat(parts)
