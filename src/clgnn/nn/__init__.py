"""The paper's GNNs, written so that K label samples cost little more than one."""

from clgnn.nn.gcn import GCN
from clgnn.nn.gin import GIN
from clgnn.nn.krylov import Krylov, Snowball
from clgnn.nn.sage import SAGE

__all__ = ["GCN", "GIN", "SAGE", "Krylov", "Snowball"]
