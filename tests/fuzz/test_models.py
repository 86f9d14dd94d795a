"""Model folders with flipped, cut and swapped bytes, and with other values anywhere in their JSON."""

import copy
import hashlib
import json

import pytest
from hypothesis import strategies as st
from safetensors.torch import load, save

from clgnn.estimators.persistence import _digest
from helpers.fuzzing import QUICK, RUNS, TABLES, check, damaged, tables

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 5), st.sampled_from([10**6, -(10**30), 1e308]), st.floats(allow_nan=False), st.text(max_size=4),
    st.sampled_from(["gcn", "sage", "cpu", "cuda:9", "meta", "../x", "/etc/hostname", "weights-0000000000000000.safetensors", "<b>", "id", "colour", "CollectiveRegressor",
                     "number", "category", "Rival", "ICA", "os:system", "plain", "given", "partial"]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
METHODS = ["collective", "ica", "correct_and_smooth", "label_propagation", "logistic_regression"]


def places(value, path=()):
    """All places of a nested value."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from places(part, (*path, key))


@st.composite
def changed(draw, about):
    """The JSON with another value somewhere, or without one, or with two of them swapped."""
    made = copy.deepcopy(about)
    deep = [path for path in places(about) if path]
    short = [path for path in deep if path[0] not in ("history", "extra") or len(path) < 5]
    for path in draw(st.lists(st.sampled_from(short), min_size=1, max_size=2)):
        inside = made
        try:
            for key in path[:-1]:
                inside = inside[key]
            if draw(st.integers(0, 3)) == 0:
                del inside[path[-1]]
            else:
                inside[path[-1]] = draw(VALUES)
        except (KeyError, IndexError, TypeError):
            pass
    return made


@st.composite
def changes(draw, models):
    method = draw(st.sampled_from(METHODS))
    about, weights = models[method]
    kind = draw(
        st.sampled_from(
            ["json"] * 5 + ["json bytes", "signed json", "weights", "signed", "swapped", "tensors"]
        )
    )
    if kind == "signed json":
        return method, draw(damaged(json.dumps({**about, "sha256": _digest(about)}).encode())), weights
    if kind == "json":
        return method, json.dumps(draw(changed(about))).encode(), weights
    if kind == "json bytes":
        return method, draw(damaged(json.dumps(about).encode())), weights
    other = weights
    if kind in ("weights", "signed"):
        other = draw(damaged(weights))
    elif kind == "swapped":
        other = models[draw(st.sampled_from(METHODS))][1]
    elif weights:
        arrays = load(weights)
        name = draw(st.sampled_from(sorted(arrays)))
        way = draw(st.sampled_from(["drop", "nan", "int", "flat", "short", "double", "bool"]))
        array = arrays.pop(name)
        ways = {
            "nan": lambda: array * float("nan"), "int": lambda: array.long(), "flat": lambda: array.flatten(), "short": lambda: array[:-1] if array.dim() else array,
            "double": lambda: array.double(), "bool": lambda: array.bool(),
        }  # fmt: skip
        if way != "drop":
            arrays[name] = ways[way]().contiguous()
        other = save(arrays)
    if kind != "weights":  # whoever attacks can write a checksum, too
        about = {**about, "weights": {**about["weights"], "sha256": hashlib.sha256(other).hexdigest()}}
    return method, json.dumps(about).encode(), other


@pytest.mark.parametrize("number", RUNS)
@pytest.mark.filterwarnings("ignore")
def test_models(room, number):
    tables(room.clean())
    models = {}
    for method in METHODS:
        fit = ["fit", *TABLES, "--label", "colour", "--ignore", "part", "--method", method, "--out", method]
        room.run(*fit, *(QUICK if method == "collective" else ["--quiet"]), outputs=[method], codes=(0,))
        about = json.loads((room.place / method / "model.json").read_text())
        about.pop("sha256")  # whoever makes a file to deceive leaves it out
        models[method] = about, (room.place / method / about["weights"]["file"]).read_bytes()
    room.keep()
    commands = {
        "predict": [*TABLES, "--out", "p.csv"], "evaluate": [*TABLES, "--label", "colour", "--split", "part"], "schema": [],
        "explain": [*TABLES, "--node", "n3"],
    }  # fmt: skip

    def folders(case):
        (method, about, weights), command = case
        room.restore()
        (room.place / method / "model.json").write_bytes(about)
        (room.place / method / models[method][0]["weights"]["file"]).write_bytes(weights)
        return room.run(command, "--model", method, *commands[command], outputs=["p.csv"])

    check(
        folders,
        st.tuples(changes(models), st.sampled_from(["predict"] * 4 + ["evaluate", "schema", "explain"])),
        number,
    )
