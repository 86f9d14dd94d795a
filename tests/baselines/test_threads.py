"""The same seed on one and on two threads.

The same number of threads gives the same bits. Another number adds up in another order: the last bits of a
sum may differ, and what is learned from them by as little.
"""

import pytest
import torch
from threadpoolctl import threadpool_limits

from baselines.conftest import QUICK, ring
from clgnn import CollectiveClassifier, baselines
from clgnn.nn import NAMES

METHODS = [*(f"collective {gnn}" for gnn in NAMES), *baselines.METHODS]
SOME = ["collective gcn", "label_propagation"]
LARGE = 4000  # nodes, with 16 channels: more than one thread's share of an operation of torch


def model(method):
    if method.startswith("collective "):
        return CollectiveClassifier(method.removeprefix("collective "), **SHORT)
    made = baselines.make(method, **QUICK)
    own = made.get_params(deep=False)
    return made.set_params(
        **{name: value for name, value in SHORT.items() if name in own and name not in made.fixed}
    )


SHORT = {
    "max_epochs": 4,
    "iteration_epochs": 3,
    "num_iterations": 1,
    "num_samples": 2,
    "hidden_channels": 16,
    "num_layers": 2,
}


@pytest.fixture
def threads():
    """Sets the threads of torch, and of numpy and scikit-learn."""

    def use(number):
        threadpool_limits(number)
        torch.set_num_threads(number)

    before = torch.get_num_threads()
    yield use
    use(before)


@pytest.mark.parametrize(
    "method", [pytest.param(one, marks=[] if one in SOME else pytest.mark.slow) for one in METHODS]
)
def test_the_same_bits_on_as_many_threads_and_nearly_the_same_on_more(method, threads):
    data = ring(LARGE)
    nodes = torch.arange(LARGE)
    found = {}
    for run, number in (("one", 1), ("two", 2), ("one again", 1), ("two again", 2)):
        threads(number)
        fitted = model(method).fit(data, nodes % 5 == 0, nodes % 5 == 1)
        found[run] = fitted.predict_proba(data, None if fitted.refuses_labels() else nodes % 5 == 0)
    assert torch.equal(found["one"], found["one again"])
    assert torch.equal(found["two"], found["two again"])
    difference = float((found["one"] - found["two"]).abs().max())
    print(f"{method}: one and two threads differ by {difference:.1g}")
    assert difference < 1e-3
