"""Files that were made to do harm: they are refused in one line, soon, and with little memory; nothing in them runs."""

import gzip
import hashlib
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clgnn.data.datasets import DatasetError, friendster
from helpers.commands import call, refused
from helpers.fuzzing import QUICK, TABLES, tables

FIT = ["fit", *TABLES, "--label", "colour", "--ignore", "part", *QUICK]
MEMORY, SECONDS = 700 << 20, 120
"""What a refusal may take beyond the imports, which take most of the time and address space."""


class Harm:
    """A pickle that makes a file."""

    def __reduce__(self):
        return os.mkdir, ("harmed",)


PICKLE = pickle.dumps(Harm())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables(tmp_path)
    call(*FIT, "--out", "model")
    return tmp_path


def npy(content):
    stream = io.BytesIO()
    np.save(stream, np.array([Harm()], dtype=object), allow_pickle=True)
    return stream.getvalue()


def zipped(content, *names):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names or ("table.csv",):
            archive.writestr(name, content)
    return stream.getvalue()


AS_TABLE = {
    "nodes.csv": PICKLE, "nodes.tsv": PICKLE, "nodes.csv.gz": gzip.compress(PICKLE), "nodes.csv.zip": zipped(PICKLE),
    "nodes.csv.bz2": PICKLE, "nodes.csv.xz": PICKLE, "nodes.parquet": PICKLE, "nodes.pq": PICKLE, "nodes.pkl": PICKLE,
    "nodes.pickle": PICKLE, "nodes.npy": npy(PICKLE), "nodes.npz": zipped(npy(PICKLE), "x.npy"), "nodes.json": PICKLE, "nodes.h5": PICKLE,
    "nodes.pt": PICKLE, "nodes": PICKLE,
}  # fmt: skip


@pytest.mark.parametrize("name", AS_TABLE)
def test_a_pickle_is_no_table(folder, name):
    Path(name).write_bytes(AS_TABLE[name])
    refused("fit", "--nodes", name, "--edges", "edges.csv", "--label", "colour", "--out", "m")
    refused("predict", "--model", "model", "--nodes", "nodes.csv", "--edges", name, "--out", "p.csv")
    assert not Path("harmed").exists()


def test_a_pickle_is_nothing_else_either(folder):
    weights = next(Path("model").glob("*.safetensors"))
    about = json.loads(Path("model/model.json").read_text())
    predict = ["predict", "--model", "model", *TABLES, "--out", "p.csv"]
    weights.write_bytes(PICKLE)
    assert "damaged" in refused(*predict)
    about["weights"]["sha256"] = hashlib.sha256(PICKLE).hexdigest()  # with a checksum that is right
    Path("model/model.json").write_text(json.dumps({**about, "sha256": None}))
    assert "damaged" in refused(*predict)
    Path("model/model.json").write_bytes(PICKLE)
    assert "damaged" in refused(*predict)
    Path("m.partial").mkdir()
    for name in ("checkpoint.json", "snapshot.safetensors"):
        Path("m.partial", name).write_bytes(PICKLE)
        assert "damaged" in refused(*FIT, "--out", "m", "--resume")
        Path("m.partial", name).unlink()
    Path("settings.toml").write_bytes(PICKLE)
    assert "is no TOML" in refused(*FIT, "--out", "m", "--config", "settings.toml")
    Path("results").mkdir()
    Path("results/ledger.sqlite").write_bytes(PICKLE)
    Path("trials.csv").write_bytes(PICKLE)
    for source in ("results", "trials.csv"):
        assert "could not be read" in refused("report", source, "--out", "page.html")
    assert not Path("harmed").exists()


def test_a_pickle_is_no_graph(folder):
    call("prepare", *TABLES, "--label", "colour", "--ignore", "part", "--out", "graph", "--quiet")
    for file in sorted(Path("graph").rglob("*")):
        if file.is_file():
            whole = file.read_bytes()
            file.write_bytes(npy(PICKLE) if file.suffix == ".npy" else PICKLE)
            if file.suffix in (".npy", ".json"):
                refused("fit", "--graph", "graph", "--out", "m", *QUICK)
            file.write_bytes(whole)
    assert not Path("harmed").exists()


def bounded(*commands):
    """Runs commands with little memory in a process of its own, each to its refusal; the lines that they say."""
    code = (
        "import sys, json, resource, torch, pandas, pyarrow.parquet, clgnn.cli, clgnn.estimators.persistence\n"
        "import clgnn.data.tables, clgnn.baselines, clgnn.experiments.compare\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        f"resource.setrlimit(resource.RLIMIT_AS, (used + {MEMORY}, used + {MEMORY}))\n"
        "for command in json.loads(sys.argv[1]):\n"
        "    try:\n"
        "        clgnn.cli.main(command)\n"
        "    except SystemExit as end:\n"
        "        assert end.code == 2, end.code\n"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(commands)], capture_output=True, text=True, timeout=SECONDS, env=environment
    )  # fmt: skip
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) == len(commands), lines
    assert all(line.startswith("Error: ") and "not enough memory" not in line for line in lines), lines
    return lines


def with_weights(content):
    """The model with other weights, and their right checksum."""
    about = json.loads(Path("model/model.json").read_text())
    Path("model", about["weights"]["file"]).write_bytes(content)
    about["weights"]["sha256"] = hashlib.sha256(content).hexdigest()
    Path("model/model.json").write_text(json.dumps({**about, "sha256": None}))


def with_parameter(**changed):
    about = json.loads(Path("model/model.json").read_text())
    features = changed.pop("features", about["features"])
    about = {**about, "sha256": None, "features": features, "parameters": {**about["parameters"], **changed}}
    Path("model/model.json").write_text(json.dumps(about))


def header(content, size=None):
    text = json.dumps(content).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text


LARGE = {
    "a header that claims terabytes": lambda: with_weights(header({}, 2**42)),
    "an array that claims terabytes": lambda: with_weights(header({"a": {"dtype": "F32", "shape": [2**20, 2**20], "data_offsets": [0, 2**42]}})),
    "wide layers": lambda: with_parameter(hidden_channels=2**31),
    "many layers": lambda: with_parameter(num_layers=2**31),
    "many columns": lambda: with_parameter(features=2**40),
    "deep JSON": lambda: Path("model/model.json").write_text("[" * 10**6),
    "deep JSON that ends": lambda: Path("model/model.json").write_text('{"a":' * 10**5 + "1" + "}" * 10**5),
}  # fmt: skip


def test_a_model_that_claims_to_be_huge_is_refused_with_little_memory(folder):
    whole = {file: file.read_bytes() for file in Path("model").iterdir()}
    commands = []
    for number, what in enumerate(LARGE):
        LARGE[what]()
        Path("model").rename(f"model-{number}")
        Path("model").mkdir()
        for file, content in whole.items():
            file.write_bytes(content)
        commands.append(["predict", "--model", f"model-{number}", *TABLES, "--out", "p.csv"])
    for what, line in zip(LARGE, bounded(*commands), strict=True):
        assert "damaged" in line, what
    assert not Path("p.csv").exists()


def rle_parquet():
    """Two hundred million rows in a few kilobytes: equal values are kept once."""
    table = pa.table(
        {"id": pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**7, np.int8)), pa.array(["n1"]))}
    )
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, table.schema, compression="zstd") as writer:
        for _ in range(20):
            writer.write_table(table, row_group_size=10**7)
    return stream.getvalue()


BOMBS = {
    "nodes.csv.gz": lambda: gzip.compress(b"id,colour\n" + b"1,2\n" * 25_000_000),
    "nodes.csv.zip": lambda: zipped(b"id,colour\n" + b"1,2\n" * 25_000_000),
    "nodes.parquet": rle_parquet,
    "line.csv": lambda: b"a" * (100 << 20),
}


def test_a_table_that_unpacks_to_far_more_than_it_is_is_refused_with_little_memory(folder):
    for name, content in BOMBS.items():
        Path(name).write_bytes(content())
    edges = ["--edges", "edges.csv", "--label", "colour"]
    for line in bounded(*(["schema", "--nodes", name, *edges] for name in BOMBS)):
        assert "made to fill the memory" in line or "first line has more than" in line


@pytest.mark.parametrize("name", ["../escaped.csv", "/escaped.csv", "..\\escaped.csv"])
def test_nothing_is_unpacked_to_a_place_of_the_files_choice(folder, name):
    Path("zipped.csv.zip").write_bytes(zipped(Path("nodes.csv").read_bytes(), name))
    before = sorted(folder.parent.rglob("*"))
    call(
        "schema", "--nodes", "zipped.csv.zip", "--edges", "edges.csv", "--label", "colour", "--ignore", "part"
    )
    assert sorted(folder.parent.rglob("*")) == before  # it is read in place
    assert not Path("/escaped.csv").exists()
    Path("two.csv.zip").write_bytes(zipped(b"id,colour\n", "a.csv", name))
    refused("schema", "--nodes", "two.csv.zip", "--edges", "edges.csv", "--label", "colour")


@pytest.mark.parametrize(
    "way", ["external link", "external storage", "virtual", "soft link to nothing", "group"]
)
def test_tables_of_an_hdf5_file_lie_in_it(tmp_path, way):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "secret.h5", "w") as other:
        other["features"] = np.ones((2, 3))
    with h5py.File(tmp_path / "given.h5", "w") as file:
        file["adjacency"] = np.zeros((2, 1), np.int64)
        if way == "external link":
            file["features"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "features")
        elif way == "external storage":
            file.create_dataset("features", (2, 3), "f8", external=[(str(tmp_path / "secret.h5"), 0, 48)])
        elif way == "virtual":
            layout = h5py.VirtualLayout((2, 3), "f8")
            layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "features", (2, 3))
            file.create_virtual_dataset("features", layout)
        elif way == "group":
            file.create_group("features")
        else:
            file["features"] = h5py.SoftLink("/nowhere")
    with pytest.raises(DatasetError, match="lies in another file"):
        friendster.parse({"friendster": tmp_path / "given.h5"})


WRONG_SCHEMA = {
    "records": pa.table({"id": ["n1", "n2"], "colour": ["red", "green"], "x": [{"a": 1}, {"a": 2}]}),
    "maps": pa.table({"id": ["n1", "n2"], "colour": ["red", "green"], "x": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64()))}),
    "bytes": pa.table({"id": [b"\xff", b"\xfe"], "colour": ["red", "green"]}),
    "no columns": pa.table({}),
    "lists as ids": pa.table({"id": [[1], [2]], "colour": ["red", "green"]}),
    "lists as labels": pa.table({"id": ["n1", "n2"], "colour": [[1], [2]]}),
    "two of a name": pa.Table.from_arrays([pa.array(["n1"]), pa.array(["n2"]), pa.array(["red"])], ["id", "id", "colour"]),
    "long texts": pa.table({"id": ["n1", "n2"], "colour": ["red", "green"], "x": pa.array(["a" * 10**6, "b"], pa.large_string())}),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG_SCHEMA)
def test_parquet_with_another_schema_gives_a_result_or_one_line(folder, what):
    pq.write_table(WRONG_SCHEMA[what], "other.parquet")
    Path("none.csv").write_text("source,target\n")
    arguments = ["schema", "--nodes", "other.parquet", "--edges", "none.csv", "--label", "colour"]
    if what in ("long texts", "lists as ids", "lists as labels"):  # whose texts are ids, and classes
        call(*arguments)
    else:
        refused(*arguments)


def test_predictions_run_nothing_in_a_spreadsheet(folder):
    formulas = ["=1+1", "+1+cmd|' /C calc'!A0", "-2+3+cmd|x", "@SUM(1)", "\t=1", '=HYPERLINK("http://x")']
    nodes = pd.read_csv("nodes.csv").assign(id=[*formulas, *(f"n{i}" for i in range(6))])
    nodes.rename(columns={"id": "=id"}).to_csv("nodes.csv", index=False)
    pd.DataFrame({"source": ["n0"], "target": ["n1"]}).to_csv("edges.csv", index=False)
    call("predict", "--model", "model", *TABLES, "--id", "=id", "--out", "p.csv")
    cells = Path("p.csv").read_text().replace('"', "").replace("\n", ",").split(",")
    numbers = pd.to_numeric(pd.Series(cells), errors="coerce").notna()
    dangerous = [
        cell
        for cell, number in zip(cells, numbers, strict=True)
        if not number and cell[:1] in tuple("=+-@\t\r")
    ]
    assert dangerous == []
