"""The sparse operators that the GNNs share: propagation along edges, and sparse features.

Everything a layer multiplies with and does not learn, the adjacency matrix A and a sparse X, is a
:class:`SparseMatrix`. Node features are ``[N, ...]`` with nodes first, so that K samples of h
channels, ``[N, K, h]``, are K*h columns of one product ``A @ H``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from clgnn.data.derived import derived
from clgnn.data.graph import Graph
from clgnn.data.sparse import scipy_csr, torch_csr

Normalization = Literal["row", "sym", "mean", "sum"]


class _Product(torch.autograd.Function):
    """``A @ H`` with the gradient ``Aᵀ @ dH``, from a transpose that is made once."""

    @staticmethod
    def forward(ctx: Any, matrix: SparseMatrix, dense: Tensor) -> Tensor:
        ctx.matrix = matrix
        return _multiply(matrix.csr, dense)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor]:
        return None, ctx.matrix.transpose_product(grads[0])


def _multiply(csr: Tensor, dense: Tensor) -> Tensor:
    dense = dense.to(csr.dtype)  # autocast gives bfloat16, which sparse products do not take
    if dense.is_cuda or csr.dtype != torch.float32 or not len(csr.values()):
        # with "sum", which a GPU does not have, a CPU uses all of its cores
        product: Tensor = torch.sparse.mm(csr, dense) if dense.is_cuda else torch.sparse.mm(csr, dense, "sum")
        return product
    # the rows that are gathered are fetched ahead, which torch's sparse product does not do
    return F.embedding_bag(
        csr.col_indices(),
        dense.detach().contiguous(),  # no gradient here; columns apart, as in W.T, take several times as long
        csr.crow_indices(),
        mode="sum",
        per_sample_weights=csr.values(),
        include_last_offset=True,
    )


class Few(NamedTuple):
    """At most ``size`` entries of each row of a matrix: m rows have more, and theirs are drawn.

    Attributes:
        crow: where the rows begin among the n entries that are taken.
        rows: the row of each entry, ``[n]``.
        entries: which entries of the matrix these are, ``[n]``; of a row that has more, the first ones.
        places: where among them the drawn ones go, ``[m * size]``.
        first: the first entry of each row that has more, ``[m, 1]``.
        last: the largest place in the row that each of the draws may have, ``[m, size]``.
    """

    crow: Tensor
    rows: Tensor
    entries: Tensor
    places: Tensor
    first: Tensor
    last: Tensor


def _few(matrix: SparseMatrix, size: int) -> Few:
    starts, degree = matrix.csr.crow_indices()[:-1].long(), matrix.degree
    counts = degree.clamp(max=size)
    crow = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    rows = torch.repeat_interleave(counts)
    entries = torch.arange(len(rows), device=rows.device) + (starts - crow[:-1])[rows]
    many, steps = (degree > size).nonzero(), torch.arange(size, device=rows.device)
    return Few(
        crow.to(matrix.csr.col_indices().dtype),
        rows,
        entries,
        (crow[many] + steps).flatten(),
        starts[many],
        degree[many] - size + steps,
    )


class SparseMatrix:
    """A constant sparse matrix, with gradients to what it is multiplied with.

    Args:
        csr: a sparse CSR tensor ``[M, N]``.
        shared: parts of other matrices, of which equal ones are taken in place of one's own: operators of
            one graph differ in their values alone, and the transpose of a symmetric one in nothing.
        own: which of the nodes that the columns are of the rows are of; None for all of them.

    Example:
        >>> import torch
        >>> a = SparseMatrix(torch.eye(3).to_sparse_csr())
        >>> (a @ torch.ones(3, 2, 4)).shape
        torch.Size([3, 2, 4])
    """

    def __init__(
        self, csr: Tensor, shared: list[Tensor] | None = None, own: slice | Tensor | None = None
    ) -> None:
        self._shared, self.own = [] if shared is None else shared, own
        self._few: tuple[int, Few] | None = None
        self.csr = _sharing(csr, self._shared)

    @cached_property
    def transposed(self) -> Tensor:
        a = scipy_csr(self.csr, np.int32 if self.csr.crow_indices().dtype == torch.int32 else np.int64)
        made = torch_csr(a.T.tocsr(), self.csr.dtype, self.csr.device, a.indices.dtype.type)
        return _sharing(made, self._shared)

    def few(self, size: int) -> Few:
        """What all draws of at most ``size`` entries of each row have in common, made once."""
        if self._few is None or self._few[0] != size:
            self._few = size, _few(self, size)
        return self._few[1]

    @cached_property
    def degree(self) -> Tensor:
        """The number of stored entries of each row, ``[M]``."""
        return self.csr.crow_indices().diff().long()

    def __matmul__(self, dense: Tensor) -> Tensor:
        """``A @ H`` for H of shape ``[N, ...]``; the trailing dimensions are columns."""
        if dense.numel() == 0:
            return dense.new_zeros(self.csr.size(0), *dense.shape[1:])
        columns = dense.reshape(dense.size(0), -1)
        product: Tensor = _Product.apply(self, columns)  # type: ignore[no-untyped-call]
        return product.view(self.csr.size(0), *dense.shape[1:])

    def transpose_product(self, dense: Tensor) -> Tensor:
        """``Aᵀ @ H``, which is the gradient of ``A @ H``; it has no gradient itself."""
        columns = dense.reshape(dense.size(0), -1).contiguous()
        return _multiply(self.transposed, columns).view(self.csr.size(1), *dense.shape[1:])


def _sharing(csr: Tensor, shared: list[Tensor]) -> Tensor:
    """The same matrix, with those of its parts that are shared already."""
    parts = []
    for part in (csr.crow_indices(), csr.col_indices(), csr.values()):
        same = (one for one in shared if one.dtype == part.dtype and torch.equal(one, part))
        found = next(same, None)
        if found is None:
            found = part
            shared.append(part)
        parts.append(found)
    rows, columns, values = parts
    return torch.sparse_csr_tensor(rows, columns, values, csr.shape, check_invariants=False)


def propagation(
    edge_index: Tensor,
    num_nodes: int,
    edge_weight: Tensor | None = None,
    normalization: Normalization = "row",
    self_loops: bool = True,
    dtype: torch.dtype = torch.float32,
) -> SparseMatrix:
    r"""The operator that gathers neighbours: ``(A H)_v`` is a sum over the edges u → v.

    ==========  =======================================  ==========================
    ``"row"``   :math:`D^{-1} (A + I)`                   the paper's inductive GCN
    ``"sym"``   :math:`D^{-1/2} (A + I) D^{-1/2}`        Kipf and Welling
    ``"mean"``  :math:`D^{-1} A`, 0 for isolated nodes   GraphSAGE
    ``"sum"``   :math:`A`                                GIN
    ==========  =======================================  ==========================

    Args:
        edge_index: ``[2, E]``, sources above targets, as in PyG.
        num_nodes: N.
        edge_weight: ``[E]``, non-negative; 1 if not given.
        normalization: see the table; D holds the row sums.
        self_loops: whether each node counts as its own neighbour ("row" and "sym" only).
        dtype: of the values.

    Returns:
        The operator ``[N, N]``; made once for an ``edge_index`` and kept while that tensor lives.
    """
    made = derived(edge_index)
    key = (num_nodes, normalization, self_loops, dtype)
    version = None if edge_weight is None else edge_weight._version
    if key in made and made[key][0] is edge_weight and made[key][1] == version:
        operator: SparseMatrix = made[key][2]
        return operator
    source, target = edge_index.cpu().numpy()
    weight = np.ones(len(source)) if edge_weight is None else edge_weight.double().cpu().numpy()
    a = sp.csr_array((weight, (target, source)), shape=(num_nodes, num_nodes))
    if self_loops and normalization in ("row", "sym"):
        a = sp.csr_array(a + sp.eye_array(num_nodes, format="csr"))
    degree = np.asarray(a.sum(axis=1)).reshape(-1)
    with np.errstate(divide="ignore"):
        if normalization in ("row", "mean"):
            a = sp.csr_array(sp.diags_array(np.where(degree > 0, 1 / degree, 0)) @ a)
        elif normalization == "sym":
            root = sp.diags_array(np.where(degree > 0, degree**-0.5, 0))
            a = sp.csr_array(root @ a @ root)
    a.sort_indices()
    index = np.int32 if a.nnz < 1 << 31 else np.int64
    operator = SparseMatrix(
        torch_csr(a, dtype, edge_index.device, index), made.setdefault("parts of operators", [])
    )
    made[key] = (edge_weight, version, operator)
    return operator


def keep_operator(
    edge_index: Tensor,
    num_nodes: int,
    normalization: Normalization,
    operator: Any,
    dtype: torch.dtype = torch.float32,
) -> None:
    """From now on :func:`propagation` gives this operator for an ``edge_index`` without weights.

    It stands in for a :class:`SparseMatrix` where the edges themselves need a gradient. All that it must do
    is ``operator @ H``.
    """
    derived(edge_index)[num_nodes, normalization, True, dtype] = (None, None, operator)


def adjacency(graph: Graph) -> Tensor:
    """Aᵀ as PyG's layers take it in place of ``edge_index``: CSR ``[N, N]`` int64, one row per target."""
    a = propagation(graph.edge_index, graph.num_nodes, graph.edge_weight, "sum", dtype=graph.x.dtype)
    made = derived(a.csr)
    if "long" not in made:
        rows, columns = a.csr.crow_indices().long(), a.csr.col_indices().long()
        made["long"] = torch.sparse_csr_tensor(
            rows, columns, a.csr.values(), a.csr.shape, check_invariants=False
        )
    long: Tensor = made["long"]
    return long


def sample_neighbors(operator: SparseMatrix, size: int) -> SparseMatrix:
    """At most ``size`` neighbours of each node, drawn without replacement, as a mean.

    Floyd's algorithm, for all nodes at once: ``size`` steps, no sorting, no loop over nodes. The
    random numbers are torch's own, as those of dropout are.

    Args:
        operator: the full neighbourhood; its values weigh the neighbours.
        size: how many to draw.

    Returns:
        An operator whose rows sum to 1 (0 for a node without neighbours).
    """
    csr, kept = operator.csr, operator.few(size)
    drawn = (torch.rand(kept.last.shape, device=csr.device) * (kept.last + 1)).long()
    drawn = torch.minimum(drawn, kept.last)  # a product may be rounded up
    for i in range(1, size):
        taken = (drawn[:, :i] == drawn[:, i, None]).any(1)
        drawn[:, i] = torch.where(taken, kept.last[:, i], drawn[:, i])
    entries = kept.entries.index_copy(0, kept.places, (kept.first + drawn).flatten())
    values = csr.values()[entries]
    total = torch.zeros(csr.size(0), dtype=values.dtype, device=csr.device).index_add_(0, kept.rows, values)
    values = values / total.clamp(min=torch.finfo(values.dtype).tiny)[kept.rows]
    columns = csr.col_indices()[entries]
    return SparseMatrix(
        torch.sparse_csr_tensor(kept.crow, columns, values, csr.shape, check_invariants=False)
    )


def project(x: Tensor, weight: Tensor) -> Tensor:
    """``X Wᵀ`` for dense or sparse X ``[N, p]`` and W ``[h, p]``."""
    if x.layout == torch.strided:
        return x @ weight.t()
    made = derived(x)
    if "matrix" not in made:
        # a copy of x, not x itself, which would then never be freed
        made["matrix"] = SparseMatrix(x.detach().to_sparse_csr())
    matrix: SparseMatrix = made["matrix"]
    return matrix @ weight.t()
