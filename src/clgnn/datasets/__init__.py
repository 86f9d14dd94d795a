"""The paper's datasets, and two that need no file."""

from clgnn.datasets.catalogue import CATALOGUE, Entry, find
from clgnn.datasets.embedded import citations, digits
from clgnn.datasets.errors import DatasetError
from clgnn.datasets.files import data_folder
from clgnn.datasets.loading import get, is_here, load
from clgnn.datasets.prepare import row_normalise, standardise
from clgnn.datasets.reference import reference_nodes
from clgnn.datasets.statistics import Statistics, statistics

__all__ = [
    "CATALOGUE",
    "DatasetError",
    "Entry",
    "Statistics",
    "citations",
    "data_folder",
    "digits",
    "find",
    "get",
    "is_here",
    "load",
    "reference_nodes",
    "row_normalise",
    "standardise",
    "statistics",
]
