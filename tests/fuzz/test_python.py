"""Inputs from Python: types and layouts of x, edge_index, y and masks, devices, dtypes, settings."""

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from torch_geometric.data import Data

from clgnn import CollectiveClassifier, CollectiveRegressor, baselines
from helpers.fuzzing import RUNS, check

N = 10
DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
    torch.complex64,
]
ODD = st.sampled_from(
    [None, 0, -1, 1.5, float("nan"), float("inf"), 10**30, 10**400, "", "cpu", "cuda:9", "meta", "tpu", True, [], [1, 2], {}, {"a": 1}, (0,), b"x",
     lambda *_: None, "gcn", "nobody", "accuracy", "plain", "all", np.float32(1), np.int64(2), torch.tensor(1.0), torch.ones(2, 2)]
)  # fmt: skip
USUAL = CollectiveClassifier().get_params(deep=False)
SETTINGS = st.sampled_from(sorted(USUAL))
METHODS = (
    ["collective"] * 6 + ["regressor"] * 2 + ["label_propagation", "majority", "ica", "logistic_regression"]
)


def base():
    ring = torch.arange(N)
    x = torch.arange(3.0 * N).reshape(N, 3).sin()
    return {"x": x, "edge_index": torch.stack([ring, ring.roll(1)]), "y": torch.tensor([0, 1] * 4 + [-1, 0])}


@st.composite
def tensors(draw, tensor):
    """The tensor in another type, layout, shape or place; with other values; or no tensor at all."""
    kind = draw(
        st.sampled_from(
            [
                "dtype",
                "layout",
                "shape",
                "value",
                "numpy",
                "list",
                "meta",
                "none",
                "grad",
                "transposed",
                "odd",
                "empty",
            ]
        )
    )
    if kind == "dtype":
        return tensor.to(draw(st.sampled_from(DTYPES)))
    if kind == "layout" and tensor.dim() == 2:
        return draw(
            st.sampled_from(
                [
                    tensor.to_sparse_coo,
                    tensor.to_sparse_csr,
                    tensor.to_sparse_csc,
                    tensor.to_mkldnn if tensor.is_floating_point() else tensor.clone,
                ]
            )
        )()
    if kind == "shape":
        return draw(
            st.sampled_from(
                [
                    tensor[:-1],
                    tensor[..., :-1],
                    tensor.unsqueeze(0),
                    tensor.unsqueeze(-1),
                    tensor.flatten(),
                    tensor[:0],
                    tensor.repeat(2, *[1] * (tensor.dim() - 1)),
                ]
            )
        )
    if kind == "value":
        changed = tensor.clone()
        at = draw(st.integers(0, tensor.numel() - 1))
        value = draw(
            st.sampled_from(
                [-1, -2, 0, 1, 5, 9, 10, 255, 2**31, 2**62]
                + [float("nan"), float("inf"), 1e38, -1e38] * tensor.is_floating_point()
            )
        )
        changed.view(-1)[at] = value
        return changed
    if kind == "transposed":
        return tensor.t().contiguous().t() if tensor.dim() == 2 else tensor.flip(0)
    simple = {"numpy": tensor.numpy(), "list": tensor.tolist(), "none": None, "empty": torch.empty(0)}
    if kind == "grad":
        return tensor.clone().requires_grad_() if tensor.is_floating_point() else tensor
    if kind == "meta":
        return tensor.to("meta")
    return draw(ODD) if kind == "odd" else simple.get(kind, tensor)


@st.composite
def masks(draw, default):
    mask = torch.zeros(N, dtype=torch.bool).index_fill_(0, torch.tensor(default), True)
    if draw(st.integers(0, 11)):
        return draw(
            st.sampled_from([mask, mask, torch.tensor(default), np.array(default), mask.numpy(), default])
        )
    return draw(tensors(mask) | st.lists(st.integers(-2, N + 1), max_size=4) | ODD)


@st.composite
def cases(draw):
    """A graph, masks and a method that go together, but for none, one or a few of them."""
    parts, method = base(), draw(st.sampled_from(METHODS))
    if (method == "regressor") == bool(draw(st.integers(0, 11))):
        parts["y"] = parts["y"].float().masked_fill(parts["y"] < 0, float("nan"))
    for name in draw(
        st.sampled_from([[], [], ["x"], ["edge_index"], ["y"], ["x", "y"], ["x", "edge_index"]])
    ):
        parts[name] = draw(tensors(parts[name]))
    for name, made in (
        ("edge_weight", torch.ones(N)),
        ("edge_attr", torch.ones(N, 2)),
        ("start_proba", torch.full((N, 2), 0.5)),
    ):
        if draw(st.integers(0, 7)) == 0:
            parts[name] = draw(st.just(made) | tensors(made))
    settings = {}
    for name in draw(st.lists(SETTINGS, max_size=2, unique=True)) if draw(st.booleans()) else []:
        settings[name] = draw(st.just(USUAL[name]) | ODD | st.integers(-2, 3) | st.floats(-1, 2))
    graph = draw(st.sampled_from(["one"] * 20 + ["list", "two", "none", "text"]))
    return (
        parts,
        settings,
        graph,
        draw(masks([0, 1, 2, 3])),
        draw(masks([4, 5])),
        draw(masks([0, 1, 6])),
        method,
    )


SHORT = {"max_epochs": 1, "iteration_epochs": 1, "num_iterations": 1, "num_samples": 1, "hidden_channels": 2}
ONE_C = {"ica": {"C": 1.0}, "logistic_regression": {"C": 1.0}}


def model(method, settings):
    """The method with little to do; ICA would else choose from hundreds of regressions."""
    ours = {"collective": CollectiveClassifier, "regressor": CollectiveRegressor}
    made = ours[method](**SHORT) if method in ours else baselines.make(method, **ONE_C.get(method, {}))
    return made.set_params(
        **{name: value for name, value in settings.items() if name in made.get_params(deep=False)}
    )


@pytest.mark.parametrize("number", RUNS)
@pytest.mark.filterwarnings("ignore")
def test_python(number):
    def python(case):
        parts, settings, kind, train, val, observed, method = case
        settings = {
            name: value for name, value in settings.items() if type(value) is not int or value < 9
        }  # not years of epochs
        graph = Data(**parts)
        data = {"one": graph, "list": [graph], "two": [graph, Data(**base())], "none": None, "text": "cora?"}[
            kind
        ]
        before = torch.get_rng_state()
        try:
            made = model(method, settings).fit(data, train, val)
            proba = made.predict_proba(data, None if made.refuses_labels() else observed)
        except ValueError as error:
            return "refused" if str(error).strip() else "refused without a word"
        assert torch.equal(torch.get_rng_state(), before)
        for one in proba if isinstance(proba, list) else [proba]:
            assert one.shape[0] == N
            assert bool(torch.isfinite(one).all())
        return "answered"

    ends = check(python, cases(), number)
    assert "refused without a word" not in ends
