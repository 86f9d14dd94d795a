r"""Probabilities that mean what they say: a temperature and a share of doubt, chosen on validation labels.

.. math::
    P(y_v) = (1 - \varepsilon)\, \sigma(z_v / \tau) + \varepsilon / C

A temperature τ above 1 makes all predictions less sure. A share of doubt ε is for a GNN that is mostly right
to be sure, and at times sure and wrong: τ alone would have to make all of them unsure. The most probable
class stays what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from scipy.optimize import minimize_scalar

DOUBTS = tuple(i / 50 for i in range(46))
"""The shares that are tried: 0 to 0.9."""
ENOUGH = 2000
"""So many labels choose between them, in equal steps through all."""
_COLDEST, _HOTTEST = 0.05, 20.0


class Calibration(NamedTuple):
    """How outputs become probabilities.

    Attributes:
        temperature: τ, by which they are divided.
        doubt: ε, the weight of the uniform distribution that is mixed in.
    """

    temperature: float = 1.0
    doubt: float = 0.0


AS_IT_IS = Calibration()


def best_temperature(loss: Callable[[Calibration], float], doubt: float = 0.0) -> tuple[float, Calibration]:
    """The lowest loss with a share of doubt, and the calibration that has it.

    Example:
        >>> found, best = best_temperature(lambda c: (c.temperature - 2) ** 2)
        >>> round(best.temperature, 2), best.doubt
        (2.0, 0.0)
    """

    def of_log(log_temperature: float) -> float:
        return loss(Calibration(math.exp(log_temperature), doubt))

    # with doubt, the rest gets no surer than it was: probabilities of 1 would all be alike
    bounds = math.log(1.0 if doubt else _COLDEST), math.log(_HOTTEST)
    found = minimize_scalar(of_log, bounds=bounds, method="bounded")
    return float(found.fun), Calibration(math.exp(float(found.x)), doubt)
