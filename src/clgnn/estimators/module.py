"""A fitted recursion as one torch module."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from clgnn.collective.averaging import average
from clgnn.collective.component import Component
from clgnn.data.graph import as_graph, visible_labels
from clgnn.estimators.calibration import Calibration
from clgnn.estimators.inside import last_step
from clgnn.estimators.labelling import Labelling, Numbers

if TYPE_CHECKING:
    from clgnn.estimators.inside import Inside


class CollectiveModule(nn.Module):
    """The recursion Θ_0, .., Θ_T of a fitted estimator, in one module.

    Its ``state_dict`` has the weights of all iterations, which of them predicts, the calibration, and for
    numbers their mean and standard deviation. So it can be read into the module of another estimator of the
    same settings, classes and columns.

    In evaluation mode ``forward`` is ``predict_proba``, to the last bit. In training mode the iteration that
    predicts has its dropout, and gradients reach its weights. Those of the iterations before it get none:
    labels are drawn from what they predict.

    Args:
        model: a fitted estimator. Its weights are copied.

    Attributes:
        components: Θ_0, .., Θ_T.
        iteration: the one that predicts.
        calibration: the temperature by which its outputs are divided, and the share of doubt.
    """

    iteration: Tensor
    calibration: Tensor

    def __init__(self, model: Inside) -> None:
        super().__init__()
        other = model._other_start()
        if other is not None:
            raise ValueError(
                f"the recursion starts from {other}, which is no module; expected a start of networks: fit "
                "with start='plain' or start='paper'"
            )
        self.model = copy.copy(model)  # the settings, and what was learned of the labels
        self.model.components_ = [copy.deepcopy(component) for component in model.components_]
        self.components = nn.ModuleList(self.model.components_)
        self.register_buffer("iteration", torch.tensor(model.best_iteration_))
        self.register_buffer("calibration", torch.tensor(model.calibration_, dtype=torch.float64))
        labelling = model.labelling_
        if isinstance(labelling, Numbers):
            scale = torch.tensor([labelling.mean, labelling.std], dtype=torch.float64)
            self.register_buffer("scale", scale)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        y: Tensor | None = None,
        edge_attr: Tensor | None = None,
        edge_type: Tensor | None = None,
    ) -> Tensor:
        """The label distribution of each node.

        Args:
            x: ``[N, p]``, dense or sparse.
            edge_index: ``[2, E]``.
            edge_weight: ``[E]`` or None.
            y: the labels that may be seen, ``[N]``; -1 (NaN for numbers) where unknown. None: there are none.
            edge_attr, edge_type: ``[E, d]`` and ``[E]``, or None.

        Returns:
            Probabilities ``[N, C]``, or means and standard deviations ``[N, 2]``.

        Raises:
            ValueError: if y is given, and the model was fitted for graphs without labels.
        """
        of_edges = {"edge_weight": edge_weight, "edge_attr": edge_attr, "edge_type": edge_type}
        data = Data(x=x, edge_index=edge_index, y=y, **of_edges)
        model, device = self.model, x.device
        graph = as_graph(data, device, model.n_features_in_)
        labelling = self._labelling()
        seen = labelling.unknown(graph.num_nodes)
        if y is not None:
            if model.refuses_labels():
                raise ValueError(
                    "y is given, but the model was fitted with test_labels='none', for graphs without "
                    "labels; fit it with test_labels='partial', or leave y out"
                )
            if model.sees_labels():
                all_of_them = torch.ones(graph.num_nodes, dtype=torch.bool)
                seen = labelling.encode(visible_labels(data, all_of_them), "y")
        components: list[Component] = model.components_[: int(self.iteration) + 1]
        start = model._start(components)
        test = model._test_graph(graph, seen.to(device), start)
        training = components[-1].training
        step = last_step(components, test)
        components[-1].train(training)  # to predict with the others was to evaluate them
        outputs = torch.stack([average(step.component, graph, labels) for labels in step.inputs]).mean(dim=0)
        return labelling.decode(outputs, Calibration(*self.calibration.tolist())).float()

    def _labelling(self) -> Labelling:
        """What a label is; of numbers, with the scale as it was read."""
        if isinstance(self.model.labelling_, Numbers):
            mean, std = self.get_buffer("scale").tolist()
            return Numbers(mean, std)
        return self.model.labelling_
