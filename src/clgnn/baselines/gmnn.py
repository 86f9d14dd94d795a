"""GMNN, graph Markov neural networks (Qu, Bengio and Tang 2019)."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clgnn.baselines.rival import Rival
from clgnn.collective.learning import Epoch, Validation, Verdict
from clgnn.data.derived import derived
from clgnn.data.graph import Graph, known
from clgnn.estimators.node import OnEpoch
from clgnn.estimators.recursion import OPTIMIZERS
from clgnn.estimators.settings import ABOVE_0, Expected, count
from clgnn.nn import GCN


class _Network(nn.Module):
    """A GCN with symmetric normalisation, dropout on its input alone, and no biases."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float) -> None:
        super().__init__()
        self.gcn = GCN(in_channels, hidden_channels, out_channels, dropout=0, normalization="sym")
        for name, parameter in self.gcn.named_parameters():
            if name.endswith("bias"):
                parameter.requires_grad_(False)  # they start at 0 and stay there
        self.dropout = dropout

    def forward(self, x: Tensor, graph: Graph) -> Tensor:
        dropped = self._drop(x)
        out: Tensor = self.gcn(dropped, graph.edge_index, graph.edge_weight)
        if dropped is not x:
            derived(dropped).clear()  # it is used once: what was derived from it need not be kept
        return out

    def _drop(self, x: Tensor) -> Tensor:
        if not self.training or self.dropout == 0:
            return x
        if x.layout == torch.strided:
            return F.dropout(x, self.dropout)
        values = F.dropout(x.values(), self.dropout)
        return torch.sparse_csr_tensor(
            x.crow_indices(), x.col_indices(), values, x.shape, check_invariants=False
        )


@dataclass(repr=False, eq=False)
class GMNN(Rival):
    r"""A conditional random field of the labels, learned by variational EM with two GCNs.

    q is a mean-field approximation from the features, p the conditional of a label given others':

    .. math::
        q(y_v | X) = \sigma(\mathrm{GCN}_q(X, A)_v), \qquad p(y_v | y_{-v}) = \sigma(\mathrm{GCN}_p(Y, A)_v)

    1. q learns from the training labels; the weights of the best validation epoch are kept.
    2. M-step: labels are drawn from q at a low temperature, the true ones where known. p learns to give
       them back on all nodes, from the same labels, with dropout, as input.
    3. E-step: q learns p's soft output on all nodes, and the true labels where known. The weights of its
       best validation epoch are kept.

    ``num_rounds`` times 2 and 3. Both are two-layer GCNs with
    :math:`\hat A = D^{-1/2}(A+I)D^{-1/2}`, no biases, and dropout on the input alone.

    A prediction is q's, as in the paper; q sees features alone. Where labels are observed, p can refine it:
    its input is the observed labels, and q's predictions elsewhere.

    Args:
        draw: labels from q for p: ``"sampled"``, the most probable ones (``"max"``), or the probabilities
            themselves (``"exp"``), all at the temperature.
        temperature: that q's logits are divided by for the draw.
        num_rounds: of EM.
        predict_with: ``"q"``, ``"p"``, or ``"auto"``: validation decides, if labels are observed while
            validating; else q.
        hidden_channels, dropout, lr, weight_decay, optimizer: of both networks; the defaults are the paper's
            for Cora. On Pubmed it has Adam, lr 0.01 and 200 ``pretrain_epochs``.
        max_epochs: of each step.
        pretrain_epochs: of step 1; as many as ``max_epochs`` if None.
        patience: q's training ends after so many epochs without a better validation metric.
        class_weight: None, ``"balanced"``, or a weight for each class, in the loss.
        device: ``"auto"`` takes a GPU if there is one.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`.

    Cost: that of ``pretrain_epochs + 2 * num_rounds * max_epochs`` epochs of a GCN.

    References:
        Qu, Bengio and Tang: GMNN: Graph Markov Neural Networks, 2019.

    Example:
        >>> from clgnn import datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.random(data, train_labels=60, test_nodes=100, val_nodes=50)
        >>> model = GMNN(max_epochs=10).fit(data, split.train_mask, split.val_mask)
        >>> model.predict_proba(data).shape
        torch.Size([300, 5])
    """

    draw: Literal["sampled", "max", "exp"] = "sampled"
    temperature: float = 0.1
    num_rounds: int = 1
    predict_with: Literal["auto", "q", "p"] = "auto"
    hidden_channels: int = 16
    dropout: float = 0.5
    lr: float = 0.05
    weight_decay: float = 5e-4
    optimizer: Literal["adam", "adamw", "rmsprop"] = "rmsprop"
    max_epochs: int = 100
    pretrain_epochs: int | None = None
    patience: int = 100
    class_weight: Any = None
    device: str = "auto"

    _learned: ClassVar[tuple[str, ...]] = ("q_", "p_", "predict_with_")
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {
        "draw": ("sampled", "max", "exp"),
        "predict_with": ("auto", "q", "p"),
        "optimizer": tuple(OPTIMIZERS),
    }
    _expected: ClassVar[dict[str, Expected]] = {
        "temperature": ABOVE_0,
        "num_rounds": count(),
        "pretrain_epochs": count(or_none=True),
    }

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        step_seed, module_seed = (int(s) for s in np.random.SeedSequence([self.seed, 0]).generate_state(2))
        generator = torch.Generator(graph.x.device).manual_seed(step_seed)
        truth, trained = F.one_hot(y.clamp(min=0), self._num_classes).float(), known(y)
        everywhere = torch.ones_like(trained)
        # Dropout and initial weights draw from torch's global generators: seeded here, restored after.
        with torch.random.fork_rng():
            torch.manual_seed(module_seed)
            self.q_ = self._blank("q_", {}).to(graph.x.device)
            self.p_ = self._blank("p_", {}).to(graph.x.device)
            optimizers = {
                module: OPTIMIZERS[self.optimizer](
                    [w for w in module.parameters() if w.requires_grad],
                    lr=self.lr,
                    weight_decay=self.weight_decay,
                )
                for module in (self.q_, self.p_)
            }

            def train(
                step: int, module: nn.Module, x: Tensor, targets: Tensor, nodes: Tensor, epochs: int
            ) -> None:
                judge = validation if module is self.q_ else None
                self._train(
                    step, module, optimizers[module], graph, x, targets, nodes, epochs, judge, on_epoch
                )

            train(0, self.q_, graph.x, truth, trained, self.pretrain_epochs or self.max_epochs)
            for number in range(self.num_rounds):
                drawn = self._draw(self._logits(self.q_, graph.x, graph), generator)
                labels = torch.where(trained.unsqueeze(1), truth, drawn)
                train(2 * number + 1, self.p_, labels, labels, everywhere, self.max_epochs)
                soft = self._logits(self.p_, labels, graph).softmax(dim=1)
                targets = torch.where(trained.unsqueeze(1), truth, soft)
                train(2 * number + 2, self.q_, graph.x, targets, everywhere, self.max_epochs)
        self.predict_with_: str = self.predict_with
        if self.predict_with == "p":
            self.best_score_ = None  # that of q was the one to train by
        if self.predict_with == "auto":
            self.predict_with_ = "q"
            if validation is not None and bool(known(validation.y).any()):
                shown = validation.y
                self.predict_with_ = self._choose(
                    (({"predict_with": name}, name) for name in ("q", "p")),
                    lambda name: self._words(graph, shown, name),
                    validation,
                )

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        return self._words(graph, y, self.predict_with_)

    def _words(self, graph: Graph, y: Tensor, name: str) -> Tensor:
        """The probabilities of q, or of p given the observed labels y and q's predictions elsewhere."""
        q = self._logits(self.q_, graph.x, graph).softmax(dim=1)
        if name == "q":
            return q
        truth = F.one_hot(y.clamp(min=0), self._num_classes).float()
        labels = torch.where(known(y).unsqueeze(1), truth, q)
        return self._logits(self.p_, labels, graph).softmax(dim=1)

    def _logits(self, module: nn.Module, x: Tensor, graph: Graph) -> Tensor:
        with torch.no_grad():
            logits: Tensor = module.to(graph.x.device).eval()(x, graph)
        return logits

    def _draw(self, logits: Tensor, generator: torch.Generator) -> Tensor:
        """Labels ``[N, C]`` from q's logits, at the temperature."""
        probabilities = (logits / self.temperature).softmax(dim=1)
        if self.draw == "exp":
            return probabilities
        if self.draw == "max":
            classes = probabilities.argmax(dim=1)
        else:
            classes = torch.multinomial(probabilities, 1, generator=generator).squeeze(1)
        return F.one_hot(classes, self._num_classes).float()

    def _train(
        self,
        step: int,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        graph: Graph,
        x: Tensor,
        targets: Tensor,
        nodes: Tensor,
        num_epochs: int,
        validation: Validation | None,
        on_epoch: Callable[[Epoch], Any],
    ) -> None:
        """Epochs on soft targets ``[N, C]`` of some nodes; the best by validation is kept, if there is one.

        The optimiser's state is kept with the weights: RMSprop's first steps are large, and would undo
        what was learned before.
        """
        weights = self._class_weights
        weight = None if weights is None else targets.new_tensor(weights)
        best: Verdict | None = None
        best_epoch, kept = 0, None
        began = time.perf_counter()
        for epoch in range(num_epochs):
            module.train()
            optimizer.zero_grad()
            loss = F.cross_entropy(module(x, graph)[nodes], targets[nodes], weight=weight)
            loss.backward()
            optimizer.step()
            metric = math.nan
            if validation is not None:
                verdict = validation.judge(self._logits(module, x, graph).softmax(dim=1))
                metric = verdict.metric
                if best is None or verdict > best:
                    best, best_epoch = verdict, epoch
                    kept = copy.deepcopy((module.state_dict(), optimizer.state_dict()))
            on_epoch(Epoch(step, epoch, loss.item(), metric, time.perf_counter() - began))
            if validation is not None and epoch - best_epoch >= self.patience:
                break
        if kept is not None and best is not None:
            self.best_score_ = best.metric
            module.load_state_dict(kept[0])
            optimizer.load_state_dict(kept[1])
        module.eval()

    def planned_epochs(self) -> list[int]:
        return [self.pretrain_epochs or self.max_epochs] + [self.max_epochs] * (2 * self.num_rounds)

    def _blank(self, name: str, state: Mapping[str, Tensor], index: int = 0) -> nn.Module:
        columns = self.n_features_in_ if name == "q_" else self._num_classes
        return _Network(columns, self.hidden_channels, self._num_classes, self.dropout)
