r"""A Gaussian on the nodes of a graph: the precision is β (I - α S), with S = D^-1/2 A D^-1/2.

S has eigenvalues from -1 to 1, so that the precision is positive definite for -1 < α < 1. Up to
:data:`EXACT` nodes everything is exact, by a sparse factorisation. Above, systems are solved by conjugate
gradients, and traces and diagonals are estimated from random signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import cg, splu

from clgnn.baselines.arrays import Floats, adjacency
from clgnn.data.graph import Graph

EXACT = 3000
"""Up to so many nodes, nothing is estimated."""
DEGREE, PROBES = 60, 30
"""Of the polynomial for the logarithm of a determinant, and how many vectors of random signs there are."""
LARGEST = 0.999
"""α is kept below: at 1 the Gaussian is no distribution any more."""

Nodes: TypeAlias = NDArray[np.bool_]
Solve: TypeAlias = Callable[[Floats], Floats]


def normalised(graph: Graph) -> sp.csr_array:
    """S ``[N, N]``; an edge in one direction counts half in each."""
    a = adjacency(graph)
    a = sp.csr_array((a + a.T) / 2)
    degree = np.asarray(a.sum(axis=1)).reshape(-1)
    root = sp.diags_array(np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0))
    return sp.csr_array(root @ a @ root)


@dataclass(frozen=True)
class Field:
    """The Gaussian with β = 1, with some nodes known.

    Attributes:
        s: S ``[N, N]``.
        seen: the nodes with a value, L, bool ``[N]``; the others are U.
        seed: of the random signs.
        exact: the largest number of nodes for which nothing is estimated.
    """

    s: sp.csr_array
    seen: Nodes
    seed: int = 0
    exact: int = EXACT

    @cached_property
    def _blocks(self) -> tuple[sp.csr_array, sp.csr_array, sp.csr_array]:
        """S of L and L, of U and L, of U and U."""
        known, others = self.s[self.seen], self.s[~self.seen]
        return known[:, self.seen], others[:, self.seen], others[:, ~self.seen]

    def expect(self, alpha: float, values: Floats) -> tuple[Floats, Floats]:
        r"""What all nodes are expected to have, given the others, and how much of the values is explained.

        .. math:: \hat r_U = \alpha (I - \alpha S)_{UU}^{-1} S_{UL} r_L

        Args:
            alpha: α.
            values: r of the nodes of L, ``[n, columns]``.

        Returns:
            The means of U, ``[N - n, columns]``; and P r ``[n, columns]``, where β P is the precision of
            the values of L alone.
        """
        ll, ul, uu = self._blocks
        hidden = self._solver(uu, alpha)(alpha * (ul @ values))
        return hidden, values - alpha * (ll @ values) - alpha * (ul.T @ hidden)

    def log_determinant(self, alpha: float) -> float:
        """log det P, by det(I - αS) = det P det (I - αS)_UU."""
        if self.s.shape[0] <= self.exact:
            return _exact_log_det(self.s, alpha) - _exact_log_det(self._blocks[2], alpha)
        moments, hidden = self._moments
        points = np.asarray(chebyshev.chebpts1(DEGREE + 1))
        series = chebyshev.chebfit(points, np.log1p(-alpha * points), DEGREE)
        return float(series @ (moments - hidden))

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """Estimated traces of the Chebyshev polynomials of S and of S_UU: the same for every α."""
        return _traces(self.s, self.seed), _traces(self._blocks[2], self.seed)

    def precisions(self, alpha: float) -> Floats:
        """The diagonal of P, ``[n]``: 1 / β P_vv is the variance of a node of L, given the others of L."""
        ll, ul, uu = self._blocks
        solve = self._solver(uu, alpha)

        def product(v: Floats) -> Floats:
            return np.asarray(v - alpha * (ll @ v) - alpha**2 * (ul.T @ solve(ul @ v)))

        return self._diagonal(product, ll.shape[0]).clip(1e-6, 1)

    def variances(self, alpha: float) -> Floats:
        """The variances of the nodes of U given L, ``[N - n]``, for β = 1."""
        uu = self._blocks[2]
        return self._diagonal(self._solver(uu, alpha), uu.shape[0]).clip(1, 1 / (1 - abs(alpha)))

    def _diagonal(self, product: Solve, n: int) -> Floats:
        """The diagonal of a matrix ``[n, n]`` that is given by its product; estimated as E z ∘ (M z)."""
        if self.s.shape[0] > self.exact:
            z = _signs(n, self.seed)
            return np.asarray((z * product(z)).mean(axis=1))
        blocks = (np.eye(n, min(512, n - at), -at) for at in range(0, n, 512))
        parts = [np.einsum("ij,ij->j", block, product(block)) for block in blocks]
        return np.concatenate([np.zeros(0), *parts])

    def _solver(self, block: sp.csr_array, alpha: float) -> Solve:
        """Solves (I - α S_UU) z = b for the columns of b."""
        n = block.shape[0]
        if n == 0:
            return lambda b: np.zeros_like(b)
        matrix = sp.csr_array(sp.eye_array(n, format="csr") - alpha * block)
        if n <= self.exact:
            factors = splu(sp.csc_array(matrix))
            return lambda b: np.asarray(factors.solve(np.ascontiguousarray(b)))
        return lambda b: np.column_stack([cg(matrix, column, rtol=1e-6)[0] for column in b.T])


def most_likely(field: Field, values: Floats) -> tuple[float, float]:
    r"""α and β that make the values of L most likely, ``[n, columns]``, the columns being independent.

    .. math::
        \log p = \tfrac{1}{2} \log \det P_\alpha + \tfrac{n}{2} \log \beta - \tfrac{\beta}{2} r^T P_\alpha r
        + \text{const}, \qquad \hat \beta = n / r^T P_{\hat\alpha} r

    Example:
        >>> rng = np.random.default_rng(0)
        >>> ring = sp.csr_array(sp.eye_array(500, k=1) + sp.eye_array(500, k=-1)) / 2
        >>> covariance = np.linalg.inv((np.eye(500) - 0.9 * ring.toarray()) * 4)
        >>> r = np.linalg.cholesky(covariance) @ rng.normal(size=(500, 4))
        >>> alpha, beta = most_likely(Field(ring, np.arange(500) % 2 == 0), r[::2])
        >>> 0.8 < alpha < 0.97, 3 < beta < 5
        (True, True)
    """
    size = int(values.size)

    def scale(alpha: float) -> float:
        return max(float((values * field.expect(alpha, values)[1]).sum()), 1e-12 * size)

    def loss(alpha: float) -> float:
        return float(size * math.log(scale(alpha)) - values.shape[1] * field.log_determinant(alpha))

    alpha = float(minimize_scalar(loss, bounds=(-LARGEST, LARGEST), method="bounded").x)
    return alpha, float(size / scale(alpha))


def _exact_log_det(block: sp.csr_array, alpha: float) -> float:
    if block.shape[0] == 0:
        return 0.0
    matrix = sp.csc_array(sp.eye_array(block.shape[0], format="csc") - alpha * block)
    return float(np.log(np.abs(splu(matrix).U.diagonal())).sum())


def _traces(block: sp.csr_array, seed: int) -> Floats:
    """tr T_k(S) for k = 0..DEGREE, from random signs z: E zᵀ T_k(S) z."""
    n = block.shape[0]
    z = _signs(n, seed)
    before, now = z, block @ z
    found = [float(n), float((z * now).sum() / PROBES)]
    for _ in range(DEGREE - 1):
        before, now = now, 2 * (block @ now) - before
        found.append(float((z * now).sum() / PROBES))
    return np.array(found)


def _signs(n: int, seed: int) -> Floats:
    return np.asarray(2.0 * np.random.default_rng(seed).integers(0, 2, size=(n, PROBES)) - 1)
