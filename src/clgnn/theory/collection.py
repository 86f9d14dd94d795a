"""All statements, in the paper's order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from clgnn.collective.component import GNN
from clgnn.theory.expressiveness import (
    most_expressive,
    reach,
    separates,
    skip_links,
    soft_labels,
    twice_the_hops,
)
from clgnn.theory.optimization import unbiased, upper_bound
from clgnn.theory.statement import Statement

STATEMENTS: tuple[Callable[[GNN, int], Statement], ...] = (
    most_expressive,
    separates,
    partial(separates, labelled=False),
    soft_labels,
    twice_the_hops,
    reach,
    upper_bound,
    unbiased,
    skip_links,
)


def statements(gnn: GNN = "gin", seed: int = 0) -> Iterator[Statement]:
    """Computes one statement of the paper after the other.

    Args:
        gnn: ``"gin"``, or a factory ``(in_channels, out_channels) -> Module`` of a GNN with two layers
            that is as expressive as 1-WL.
        seed: the random seed of the weights and of the draws.

    Example:
        >>> first = next(statements())
        >>> first.name, first.holds
        ('theorem 1', True)
    """
    return (statement(gnn, seed) for statement in STATEMENTS)
