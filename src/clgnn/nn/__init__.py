"""The paper's GNNs and others, written so that K label samples cost little more than one."""

from __future__ import annotations

from torch import nn

from clgnn.nn.column import ColumnNetwork
from clgnn.nn.gcn import GCN
from clgnn.nn.gin import GIN
from clgnn.nn.hetero import HeteroSAGE
from clgnn.nn.krylov import Krylov
from clgnn.nn.nip import NIPMean
from clgnn.nn.sage import SAGE
from clgnn.nn.snowball import Snowball

NAMES: dict[str, type[nn.Module]] = {
    "gcn": GCN,
    "sage": SAGE,
    "snowball": Snowball,
    "tk": Snowball,  # the paper's word for it
    "krylov": Krylov,
    "gin": GIN,
    "nip": NIPMean,
    "column": ColumnNetwork,
}
"""The GNNs by the names that estimators and the command line take."""

__all__ = ["GCN", "GIN", "NAMES", "SAGE", "ColumnNetwork", "HeteroSAGE", "Krylov", "NIPMean", "Snowball"]
