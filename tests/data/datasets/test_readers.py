"""Bad raw files, reader by reader: one clear error each, and nothing written or run."""

import pickle
import zipfile

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from clgnn.data.datasets import DatasetError, csl, facebook, friendster, planetoid, protein

TABLES = {
    "A": "1, 2\n2, 1\n",
    "graph_indicator": "1\n" * 90,
    "node_labels": "0\n" * 90,
    "node_attributes": "1.0, 2.0\n" * 90,
}


def write_zip(path, tables, folder="PROTEINS_full//"):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in tables.items():
            archive.writestr(f"{folder}PROTEINS_full_{name}.txt", text)
    return {"PROTEINS_full.zip": path}


def write_planetoid(folder, **parts):
    matrix = sp.csr_matrix(np.eye(3))
    content = {
        "allx": matrix[:2],
        "ally": np.eye(2),
        "tx": matrix[2:],
        "ty": np.eye(2)[:1],
        "graph": {0: [1], 1: [0, 2], 2: [1]},
    } | parts
    for part, value in content.items():
        (folder / f"ind.mini.{part}").write_bytes(pickle.dumps(value, protocol=2))
    (folder / "ind.mini.test.index").write_text("2\n")
    return {path.name: path for path in folder.iterdir()}


def test_planetoid(tmp_path):
    graph = planetoid.build(planetoid.parse(write_planetoid(tmp_path)))
    assert graph.x.to_dense().tolist() == np.eye(3).tolist()
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.y.tolist() == [0, 1, 0]


def test_planetoid_of_two_datasets(tmp_path):
    files = write_planetoid(tmp_path, graph={0: [1], 1: [0]})
    with pytest.raises(
        DatasetError, match=r"it has 2 nodes, allx 2 and test.index 1 others; expected that they add up"
    ):
        planetoid.parse(files)


def test_planetoid_without_numbers(tmp_path):
    files = write_planetoid(tmp_path)
    files["ind.mini.test.index"].write_text("two\n")
    with pytest.raises(DatasetError, match=r"test.index cannot be read"):
        planetoid.parse(files)


def test_protein_takes_large_graphs_without_label_2(tmp_path):
    tables = {
        "A": "1, 2\n2, 1\n91, 92\n92, 91\n",
        "graph_indicator": "1\n" * 90 + "2\n" * 86 + "3\n" * 85,
        "node_labels": "0\n" * 89 + "2\n" + "1\n" * 86 + "0\n" * 85,
        "node_attributes": "".join(f"{i}, 0\n" for i in range(261)),
    }
    (graph,) = protein.build(protein.parse(write_zip(tmp_path / "p.zip", tables)), prepare=False)
    assert graph.num_nodes == 86
    assert graph.x[0].tolist() == [90, 0]
    assert graph.edge_index.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("folder", ["../", "a/../../", "/"])
def test_a_zip_that_points_out_of_its_folder_is_refused(tmp_path, folder):
    files = write_zip(tmp_path / "p.zip", TABLES, folder)
    with pytest.raises(DatasetError, match=r"its member '.*' points out of the folder"):
        protein.parse(files)
    assert list(tmp_path.iterdir()) == [tmp_path / "p.zip"]


def test_a_zip_without_a_table(tmp_path):
    tables = {name: text for name, text in TABLES.items() if name != "node_labels"}
    with pytest.raises(DatasetError, match="it has no table 'node_labels'"):
        protein.parse(write_zip(tmp_path / "p.zip", tables))


@pytest.mark.parametrize("length", [0, 100, -30])
def test_a_truncated_zip(tmp_path, length):
    files = write_zip(tmp_path / "p.zip", TABLES)
    files["PROTEINS_full.zip"].write_bytes(files["PROTEINS_full.zip"].read_bytes()[:length])
    with pytest.raises(DatasetError, match=r"p.zip cannot be read: .*; expected the TU zip"):
        protein.parse(files)


def test_a_zip_with_words_for_numbers(tmp_path):
    with pytest.raises(DatasetError, match=r"p.zip cannot be read"):
        protein.parse(write_zip(tmp_path / "p.zip", TABLES | {"A": "one, two\n"}))


def write_h5(path, **tables):
    with h5py.File(path, "w") as file:
        for name, table in tables.items():
            file[name] = table
    return {path.name: path}


def test_an_hdf5_file_without_a_table(tmp_path):
    with pytest.raises(
        DatasetError, match="it has only the tables features; expected the tables adjacency and features"
    ):
        friendster.parse(write_h5(tmp_path / "f.h5", features=np.eye(3)))


@pytest.mark.parametrize("length", [0, 300])
def test_a_truncated_hdf5_file(tmp_path, length):
    files = write_h5(tmp_path / "f.h5", features=np.eye(30), adjacency=np.eye(30))
    files["f.h5"].write_bytes(files["f.h5"].read_bytes()[:length])
    with pytest.raises(DatasetError, match=r"f.h5 cannot be read: .*; expected an HDF5 file"):
        friendster.parse(files)


@pytest.mark.parametrize(
    ("age", "gapless", "literal"),
    [(0, -1, -1), (24, 0, 0), (25, 1, 1), (31, 2, -1), (36, 2, 2), (40, 2, 2)]
    + [(41, 3, -1), (46, 3, 3), (50, 3, 3), (51, 4, 4), (91, 4, 4)],
)
def test_age_groups(tmp_path, age, gapless, literal):
    features, adjacency = np.array([[age, 1], [20, 0]]), np.array([[1], [0]])
    tensors = friendster.parse(write_h5(tmp_path / "f.h5", features=features, adjacency=adjacency))
    assert friendster.build(tensors).y.tolist() == [gapless, 0]
    assert friendster.build(tensors, ages="literal").y.tolist() == [literal, 0]


def test_a_mat_file(tmp_path):
    table = np.array([[1, 2, 0, 7, 5, 1, 1], [1, 0, 3, 0, 0, 1, 2]])
    scipy.io.savemat(tmp_path / "s.mat", {"A": sp.csc_matrix([[0, 1.0], [1.0, 0]]), "local_info": table})
    graph = facebook.build_school(facebook.parse_school({"s.mat": tmp_path / "s.mat"}))
    assert graph.y.tolist() == [1, -1]
    assert graph.x.to_dense().tolist() == [[1, 0, 1, 1, 1, 1, 0], [1, 1, 0, 0, 1, 0, 1]]


def test_years_of_a_mat_file_are_numbers(tmp_path):
    table = np.array([[1, 2, 0, 7, 5, 2006, 1], [1, 0, 3, 0, 0, 0, 2]])
    scipy.io.savemat(tmp_path / "s.mat", {"A": sp.csc_matrix([[0, 1.0], [1.0, 0]]), "local_info": table})
    tensors = facebook.parse_school({"s.mat": tmp_path / "s.mat"})
    graph = facebook.build_school(tensors, target="year")
    assert graph.y[0] == 2006
    assert graph.y[1].isnan()
    assert graph.x.to_dense().tolist() == [[1, 1, 0, 1, 1, 1, 0], [1, 0, 1, 0, 0, 0, 1]]
    with pytest.raises(DatasetError, match="expected gender or year"):
        facebook.build_school(tensors, target="dorm")


@pytest.mark.parametrize("content", [b"", b"no matrix" * 100])
def test_a_bad_mat_file(tmp_path, content):
    (tmp_path / "s.mat").write_bytes(content)
    with pytest.raises(
        DatasetError, match=r"s\.mat cannot be read: .*; expected a \.mat file with A and local_info"
    ):
        facebook.parse_school({"s.mat": tmp_path / "s.mat"})


def test_csl_with_other_matrices(tmp_path):
    (tmp_path / "c.pkl").write_bytes(pickle.dumps([sp.coo_matrix(np.eye(4))], protocol=3))
    with pytest.raises(DatasetError, match="it has 1 matrices; expected a multiple of 10, 41 x 41"):
        csl.parse({"c.pkl": tmp_path / "c.pkl"})
