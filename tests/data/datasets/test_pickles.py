import os
import pickle
from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse as sp

from clgnn.data.datasets import DatasetError, pickles


class Call:
    """Pickles as a call of a function."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("array", [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.eye(3, dtype=">i4"))])
def test_arrays_come_back(array, protocol):
    content = pickle.dumps(array, protocol=protocol)
    if protocol == 5:  # out of use in the files, and not needed
        with pytest.raises(DatasetError, match="_frombuffer"):
            pickles.loads(content, "a file")
    else:
        back = pickles.loads(content, "a file")
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.coo_matrix])
def test_matrices_come_back(kind):
    matrix = kind(np.array([[0, 2.0, 0], [1.0, 0, 3.0]]))
    back = pickles.loads(pickle.dumps([matrix], protocol=2), "a file")[0]
    np.testing.assert_array_equal(back.toarray(), matrix.toarray())


def test_dictionaries_come_back():
    graph = defaultdict(list, {0: [1, 2], 1: [0], 2: [0]})
    assert pickles.loads(pickle.dumps(graph, protocol=2), "a file") == graph


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_would_run_a_command_is_refused(tmp_path, protocol):
    marker = tmp_path / "ran"
    path = tmp_path / "ind.cora.allx"
    path.write_bytes(pickle.dumps([np.eye(2), Call(os.system, f"touch {marker}")], protocol=protocol))
    with pytest.raises(
        DatasetError, match=r"ind\.cora\.allx cannot be read: it asks for posix\.system|nt\.system"
    ):
        pickles.load(path)
    assert not marker.exists()


@pytest.mark.parametrize("function", [eval, getattr, np.load, np.fromfile, __import__])
def test_functions_are_refused(function):
    with pytest.raises(DatasetError, match="was not run"):
        pickles.loads(pickle.dumps(Call(function, "x"), protocol=2), "a file")


def test_a_named_class_is_never_imported():
    for content in (b"cno_such_module\nx\n.", b"\x80\x04\x8c\x05numpy\x8c\x0cndarray.dump\x93."):
        with pytest.raises(DatasetError, match="was not run"):
            pickles.loads(content, "a file")


@pytest.mark.parametrize("length", [0, 1, 20, 100])
def test_a_truncated_pickle_is_one_clear_error(length):
    content = pickle.dumps(np.arange(100.0), protocol=2)
    with pytest.raises(DatasetError, match=r"a file cannot be read: .*delete it and load again"):
        pickles.loads(content[:length], "a file")


def test_indices_outside_the_shape_are_refused():
    matrix = sp.csr_matrix(np.eye(3))
    matrix.indices[0] = 10_000_000
    with pytest.raises(DatasetError, match="cannot be read"):
        pickles.loads(pickle.dumps(matrix, protocol=2), "a file")


def test_an_array_of_another_type_is_refused():
    with pytest.raises(DatasetError, match="an array of type"):
        pickles.loads(pickle.dumps(np.array(["text"]), protocol=2), "a file")


def test_object_array_of_an_npz(tmp_path):
    parts = np.empty(2, object)
    parts[:] = [np.arange(3), np.arange(2)]
    np.savez(tmp_path / "split.npz", arr_0=parts)
    first, second = pickles.load_object_array(tmp_path / "split.npz", "arr_0")
    assert (first.tolist(), second.tolist()) == ([0, 1, 2], [0, 1])


def test_hostile_object_array(tmp_path):
    marker = tmp_path / "ran"
    np.savez(tmp_path / "split.npz", arr_0=np.array([Call(os.system, f"touch {marker}")], object))
    with pytest.raises(DatasetError, match="was not run"):
        pickles.load_object_array(tmp_path / "split.npz", "arr_0")
    assert not marker.exists()


def test_an_npz_without_the_array(tmp_path):
    np.savez(tmp_path / "split.npz", other=np.eye(2))
    with pytest.raises(DatasetError, match=r"expected an .npz with the array arr_0"):
        pickles.load_object_array(tmp_path / "split.npz", "arr_0")
