"""Snowball (Luan et al. 2019), the multi-scale GCN that the paper calls TK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from clgnn.engine.dropout import dropout_mask
from clgnn.engine.propagation import SparseMatrix, propagation
from clgnn.nn.labelled import linears, or_no_labels, split_linear, uniform


class Snowball(nn.Module):
    r"""Snowball: every layer sees all layers before it.

    .. math::
        H_{l+1} = \tanh(\hat A [H_0 | \dots | H_l] W_l + b_l), \qquad
        \mathrm{out} = \hat A [H_0 | \dots | H_n] W_n + b_n

    with :math:`H_0 = [X | Y_k]` and :math:`\hat A = D^{-1}(A+I)`. Written with one product
    :math:`\hat A H_l` per layer, which all later layers use, and one product :math:`X W` for all of them.

    Args:
        in_channels: columns of X, plus C when labels are given.
        hidden_channels: h, the width of each layer.
        out_channels: columns of the output.
        num_layers: n hidden layers; the paper has 10.
        dropout: after each hidden layer.

    Shapes: as for :class:`clgnn.nn.GCN`.

    Example:
        >>> import torch
        >>> tk = Snowball(in_channels=3 + 2, hidden_channels=8, out_channels=2, num_layers=4)
        >>> tk(torch.rand(4, 3), torch.tensor([[0, 1, 2], [1, 2, 3]]), labels=torch.rand(4, 10, 2)).shape
        torch.Size([4, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 10,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers is {num_layers}; Snowball has at least 1")
        self.in_channels, self.dropout = in_channels, dropout
        self.hops = num_layers + 1
        widths = [*[hidden_channels] * num_layers, out_channels]
        self.layers = nn.ModuleList(
            nn.Linear(in_channels + i * hidden_channels, width) for i, width in enumerate(widths)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in linears(self.layers):
            uniform(layer)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, labels: Tensor | None = None
    ) -> Tensor:
        labels = or_no_labels(x, labels)
        a = propagation(edge_index, x.size(0), edge_weight, "row", dtype=x.dtype)
        layers = linears(self.layers)
        inputs = torch.cat([layer.weight[:, : self.in_channels] for layer in layers])
        shared, wy = split_linear(x, labels, inputs)
        shared = a @ shared + torch.cat([layer.bias for layer in layers])  # A X W_l + b_l of all layers
        widths = [layer.out_features for layer in layers]
        weights = [
            torch.cat([of_labels, layer.weight[:, self.in_channels :]], dim=1)
            for of_labels, layer in zip(wy.split(widths), layers, strict=True)
        ]
        from_x, of_last = shared.split([sum(widths[:-1]), widths[-1]], dim=1)
        p = self.dropout if self.training else 0.0
        mean: Tensor = _Layers.apply(a, a @ labels, from_x, p, *weights[:-1])  # type: ignore[no-untyped-call]
        out: Tensor = mean @ weights[-1].t() + of_last
        return out


def _add_products(total: Tensor, blocks: Sequence[Tensor], weights: Sequence[Tensor]) -> None:
    """``total += Σ_j B_j W_j``, in place."""
    for block, weight in zip(blocks, weights, strict=True):
        total.addmm_(block, weight)


class _Layers(torch.autograd.Function):
    """The hidden layers for all samples: the mean of ``A [Y_k | H_1 | .. | H_n]``, ``[N, C + n h]``.

    Each ``A H_l`` stays a matrix ``[N K, h]`` of its own, and ``A [H_0 | .. | H_l] W`` is summed up block by
    block in place, forward and backward: nothing is concatenated, and no product is kept. The last layer
    goes to the output alone, where the mean over the samples can come before the propagation.
    """

    @staticmethod
    def forward(
        ctx: Any, a: SparseMatrix, of_labels: Tensor, from_x: Tensor, p: float, *weights: Tensor
    ) -> Tensor:
        (n, k, c), (h, depth) = of_labels.shape, (weights[0].size(0), len(weights))
        gathered, activations, masks = [of_labels.reshape(n * k, c)], [], []
        for weight, constant in zip(weights, from_x.split(h, dim=1), strict=True):
            t = constant.repeat_interleave(k, dim=0)
            parts = weight.split([c, *[h] * (len(gathered) - 1)], dim=1)
            _add_products(t, gathered, [part.t() for part in parts])
            kept = dropout_mask(t.tanh_(), p)
            dropped = (t if kept is None else t * kept).view(n, k, h)
            if len(gathered) < depth:
                gathered.append((a @ dropped).view(n * k, h))
            activations.append(t)
            masks.append(kept)
        ctx.a, ctx.samples, ctx.depth = a, k, depth
        ctx.save_for_backward(*gathered, *activations, *masks, *weights)
        means = [block.view(n, k, block.size(1)).mean(dim=1) for block in gathered]
        out: Tensor = torch.cat([*means, a @ dropped.mean(dim=1)], dim=1)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        k, depth, saved = ctx.samples, ctx.depth, ctx.saved_tensors
        gathered, activations, masks, weights = (saved[i * depth : (i + 1) * depth] for i in range(4))
        c, h = gathered[0].size(1), activations[0].size(1)
        own = (grads[0] / k).split([c, *[h] * depth], dim=1)  # of each of the k samples, by block
        blocks = [weight.split([c, *[h] * layer], dim=1) for layer, weight in enumerate(weights)]
        before_tanh: list[Tensor] = []  # the gradients of the layers l+1, .., n

        def of_block(number: int) -> Tensor:
            grad: Tensor = own[number].repeat_interleave(k, dim=0)
            _add_products(grad, before_tanh, [later[number] for later in blocks[number:]])
            return grad

        for layer in reversed(range(depth)):
            if layer == depth - 1:
                grad = ctx.a.transpose_product(own[-1]).repeat_interleave(k, dim=0)
            else:
                grad = ctx.a.transpose_product(of_block(layer + 1).view(-1, k, h)).view(-1, h)
            if masks[layer] is not None:
                grad.mul_(masks[layer])
            before_tanh.insert(0, torch.ops.aten.tanh_backward(grad, activations[layer]))
        of_labels = of_block(0).view(-1, k, c) if ctx.needs_input_grad[1] else None
        from_x = torch.cat([grad.view(-1, k, h).sum(dim=1) for grad in before_tanh], dim=1)
        of_weights = [
            torch.cat([grad.t() @ block for block in gathered[: layer + 1]], dim=1)
            for layer, grad in enumerate(before_tanh)
        ]
        return None, of_labels, from_x, None, *of_weights
