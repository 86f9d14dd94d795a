"""Snowball (Luan et al. 2019), the multi-scale GCN that the paper calls TK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from clgnn.engine.dropout import dropout_mask
from clgnn.engine.pooled import pieces
from clgnn.engine.propagation import SparseMatrix
from clgnn.nn.labelled import OneOperator, around, linears, split_linear, uniform


class Snowball(OneOperator):
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
        self.normalization = "row"
        widths = [*[hidden_channels] * num_layers, out_channels]
        self.layers = nn.ModuleList(
            nn.Linear(in_channels + i * hidden_channels, width) for i, width in enumerate(widths)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in linears(self.layers):
            uniform(layer)

    @property
    def depth(self) -> int:
        return len(self.layers)

    def run(self, x: Tensor, operators: Sequence[SparseMatrix], labels: Tensor) -> Tensor:
        layers = linears(self.layers)
        inputs = torch.cat([layer.weight[:, : self.in_channels] for layer in layers])
        shared, wy = split_linear(x, labels, inputs)
        first, n = operators[0], operators[-1].csr.size(0)
        shared = first @ shared + torch.cat([layer.bias for layer in layers])  # A X W_l + b_l of all layers
        widths = [layer.out_features for layer in layers]
        weights = [
            torch.cat([of_labels, layer.weight[:, self.in_channels :]], dim=1)
            for of_labels, layer in zip(wy.split(widths), layers, strict=True)
        ]
        from_x, of_last = shared.split([sum(widths[:-1]), widths[-1]], dim=1)
        p = self.dropout if self.training else 0.0
        of_labels = around(first, labels)
        mean: Tensor = _Layers.apply(operators, of_labels, from_x, p, *weights[:-1])  # type: ignore[no-untyped-call]
        out: Tensor = mean @ weights[-1].t() + of_last[:n]
        return out


PIECE = 2**19
"""About so many numbers of a layer are worked on at a time: what is added up stays in the cache."""


def _add_products(total: Tensor, rows: slice, blocks: Sequence[Tensor], weights: Sequence[Tensor]) -> None:
    """``total += Σ_j B_j W_j`` for these rows, in place; a block may end before them."""
    for block, weight in zip(blocks, weights, strict=True):
        piece = block[rows]
        total[: len(piece)].addmm_(piece, weight)


def _tanh_of_half_(x: Tensor) -> Tensor:
    """``tanh(x / 2) = 2 σ(x) - 1``, in place: torch computes the sigmoid faster than tanh."""
    return torch.add(x.new_tensor(-1), x.sigmoid_(), alpha=2, out=x)


def _dropped(t: Tensor, p: float, out: Tensor, slope: Tensor | None) -> None:
    """``out = M t`` with a mask M of dropout, and ``slope = M (1 - t²)``, its slope before the tanh."""
    kept = dropout_mask(t, p)
    if kept is None:
        out.copy_(t)
        kept = t.new_ones(()).expand_as(t)
    else:
        torch.mul(t, kept, out=out)
    if slope is not None:
        torch.addcmul(kept, out, t, value=-1, out=slope)


class _Layers(torch.autograd.Function):
    """The hidden layers for all samples: the mean of ``A [Y_k | H_1 | .. | H_n]``, ``[n_0, C + n h]``.

    Each ``A H_l`` stays a matrix ``[N K, h]`` of its own, and ``A [H_0 | .. | H_l] W`` is summed up block by
    block in place, forward and backward: nothing is concatenated, and no product is kept. Of a layer itself,
    its slope is all that is kept. The last layer goes to the output alone, where the mean over the samples
    can come before the propagation. A layer has as many rows as its operator; they are the first ones of the
    layer before.
    """

    @staticmethod
    def forward(
        ctx: Any,
        operators: Sequence[SparseMatrix],
        of_labels: Tensor,
        from_x: Tensor,
        p: float,
        *weights: Tensor,
    ) -> Tensor:
        (n, k, c), (h, depth) = of_labels.shape, (weights[0].size(0), len(weights))
        counts = [operator.csr.size(0) for operator in operators]
        gathered, slopes = [of_labels.reshape(n * k, c)], []
        twice = 2 * from_x  # which is exact, and so are weights times two
        room = of_labels.new_empty(n * k, h)  # for one layer at a time: new memory takes time
        scratch = of_labels.new_empty(next(pieces(n, k, h, PIECE))[1].stop, h)
        for layer, weight in enumerate(weights):
            dropped = room[: counts[layer] * k]
            slope = torch.empty_like(dropped) if any(ctx.needs_input_grad) else None
            parts = [part.t() for part in (2 * weight).split([c, *[h] * layer], dim=1)]
            for nodes, rows in pieces(counts[layer], k, h, PIECE):
                t = scratch[: rows.stop - rows.start]
                t.view(-1, k, h).copy_(twice[nodes, None, layer * h : (layer + 1) * h])
                _add_products(t, rows, gathered, parts)
                _dropped(_tanh_of_half_(t), p, dropped[rows], None if slope is None else slope[rows])
            if layer < depth - 1:
                gathered.append((operators[layer + 1] @ dropped.view(-1, k, h)).view(-1, h))
            slopes.append(slope)
        ctx.operators, ctx.samples, ctx.counts = operators, k, counts
        ctx.save_for_backward(*gathered, *slopes, *weights)
        last = counts[-1]
        means = [block[: last * k].view(last, k, block.size(1)).mean(dim=1) for block in gathered]
        of_last = operators[-1] @ dropped.view(-1, k, h).mean(dim=1)
        return torch.cat([*means, of_last], dim=1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        operators, k, counts, saved = ctx.operators, ctx.samples, ctx.counts, ctx.saved_tensors
        depth = len(counts) - 1
        gathered, slopes, weights = (saved[i * depth : (i + 1) * depth] for i in range(3))
        h, c = weights[0].shape
        own = (grads[0] / k).split([c, *[h] * depth], dim=1)  # of each of the k samples, by block
        blocks = [weight.split([c, *[h] * layer], dim=1) for layer, weight in enumerate(weights)]
        before_tanh: list[Tensor] = []  # the gradients of the layers l+1, .., n
        from_x, room = grads[0].new_zeros(counts[0], depth * h), grads[0].new_empty(counts[0] * k, h)
        of_weights = [torch.zeros_like(weight) for weight in weights]

        def of_block(number: int) -> Tensor:
            """The gradient of a block, ``[n, K, ..]``, from all layers that see it."""
            grad = room[: counts[number] * k] if number else torch.empty_like(gathered[0])
            first, *later = [blocks_of[number] for blocks_of in blocks[number:]]
            for _, rows in pieces(counts[number], k, h, PIECE):
                torch.mm(before_tanh[0][rows], first, out=grad[rows])
                _add_products(grad[rows], rows, before_tanh[1:], later)
            by_node = grad.view(counts[number], k, -1)
            by_node[: counts[-1]] += own[number].unsqueeze(1)
            return by_node

        for layer in reversed(range(depth)):
            of_next = own[-1].unsqueeze(1) if layer == depth - 1 else of_block(layer + 1)
            grad = operators[layer + 1].transpose_product(of_next).expand(-1, k, -1).contiguous()
            into = of_weights[layer].split([c, *[h] * layer], dim=1)
            for nodes, rows in pieces(counts[layer], k, h, PIECE):
                piece = grad[nodes].mul_(slopes[layer][rows].view(-1, k, h))
                torch.sum(piece, dim=1, out=from_x[nodes, layer * h : (layer + 1) * h])
                transposed = piece.view(-1, h).t()
                for block, of_weight in zip(gathered[: layer + 1], into, strict=True):
                    of_weight.addmm_(transposed, block[rows])
            before_tanh.insert(0, grad.view(-1, h))
        of_labels = of_block(0) if ctx.needs_input_grad[1] else None
        return None, of_labels, from_x, None, *of_weights
