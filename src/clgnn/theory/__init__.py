"""The paper's theory, runnable: 1-WL, the graphs of the proofs, exact expectations, and each statement."""

from clgnn.theory.collection import STATEMENTS, statements
from clgnn.theory.expectation import expected, random_components
from clgnn.theory.graphs import SKIPS, csl, proposition_1, theorem_2, undirected
from clgnn.theory.statement import Statement
from clgnn.theory.wl import classes, initial_colours, isomorphic, orbits, refine

__all__ = [
    "SKIPS",
    "STATEMENTS",
    "Statement",
    "classes",
    "csl",
    "expected",
    "initial_colours",
    "isomorphic",
    "orbits",
    "proposition_1",
    "random_components",
    "refine",
    "statements",
    "theorem_2",
    "undirected",
]
