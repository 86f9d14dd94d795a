"""The paper's GNNs, written so that K label samples cost little more than one."""

from __future__ import annotations

from torch import nn

from clgnn.nn.gcn import GCN
from clgnn.nn.gin import GIN
from clgnn.nn.krylov import Krylov
from clgnn.nn.sage import SAGE
from clgnn.nn.snowball import Snowball

NAMES: dict[str, type[nn.Module]] = {
    "gcn": GCN,
    "sage": SAGE,
    "snowball": Snowball,
    "tk": Snowball,  # the paper's word for it
    "krylov": Krylov,
    "gin": GIN,
}
"""The GNNs by the names that estimators and the command line take."""

__all__ = ["GCN", "GIN", "NAMES", "SAGE", "Krylov", "Snowball"]
