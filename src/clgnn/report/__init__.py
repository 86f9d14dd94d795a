"""The report: one HTML file that shows results, and lets its reader choose which."""

from clgnn.report.comparison import Comparison, from_comparison
from clgnn.report.evaluation import from_evaluation
from clgnn.report.graph_view import view, view_split
from clgnn.report.page import page, write
from clgnn.report.trials import from_trials

__all__ = [
    "Comparison",
    "from_comparison",
    "from_evaluation",
    "from_trials",
    "page",
    "view",
    "view_split",
    "write",
]
