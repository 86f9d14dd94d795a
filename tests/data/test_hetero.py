"""Heterogeneous graphs: several types of nodes, labels for one of them."""

import pytest
import torch
from torch import nn
from torch_geometric.data import HeteroData
from torch_geometric.nn import HeteroConv, SAGEConv, to_hetero

import clgnn
from clgnn import CollectiveClassifier, CollectiveMultiLabelClassifier, CollectiveRegressor, baselines
from clgnn.data.graph import as_graph
from clgnn.data.hetero import labelled_part

LITTLE = {"num_iterations": 2, "max_epochs": 6, "iteration_epochs": 4, "num_samples": 3}
PAPERS, AUTHORS = 40, 15


@pytest.fixture
def library():
    """Papers with a topic, and authors who write about one topic."""
    generator = torch.Generator().manual_seed(0)
    data = HeteroData()
    topic = torch.randint(2, (AUTHORS,), generator=generator)
    writer = torch.randint(AUTHORS, (PAPERS,), generator=generator)
    data["paper"].x = torch.rand(PAPERS, 4, generator=generator)
    data["paper"].y = topic[writer]
    data["author"].x = torch.eye(AUTHORS)
    written = torch.stack([writer, torch.arange(PAPERS)])
    data["author", "writes", "paper"].edge_index = written
    data["paper", "written_by", "author"].edge_index = written.flip(0)
    return data


class Net(nn.Module):
    def __init__(self, out=8):
        super().__init__()
        self.first, self.second = SAGEConv((-1, -1), out), SAGEConv((-1, -1), out)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)


class Own(nn.Module):
    """Written for heterogeneous graphs."""

    def __init__(self, metadata):
        super().__init__()
        self.convs = nn.ModuleList(
            HeteroConv({kind: SAGEConv((-1, -1), 8) for kind in metadata[1]}) for _ in range(2)
        )

    def forward(self, x_dict, edge_index_dict):
        for conv in self.convs:
            x_dict = {name: x.relu() for name, x in conv(x_dict, edge_index_dict).items()}
        return x_dict


def boosted(library, module=None, **settings):
    gnn = to_hetero(Net(), library.metadata()) if module is None else module(library.metadata())
    return CollectiveClassifier(gnn=gnn, **{**LITTLE, **settings})


@pytest.mark.parametrize("module", [None, Own])
@pytest.mark.parametrize("test_labels", ["none", "partial"])
def test_modules_made_by_to_hetero_and_written_for_it(library, module, test_labels):
    model = boosted(library, module, test_labels=test_labels).fit(library, range(20), range(20, 30))
    shown = range(20) if test_labels == "partial" else None
    proba = model.predict_proba(library, shown)
    assert proba.shape == (PAPERS, 2)
    assert torch.allclose(proba.sum(dim=1), torch.ones(PAPERS))
    assert 0 <= model.score(library, range(30, 40), shown) <= 1
    assert model.components_[1].columns == 2, "labels are input"


def test_masks_of_the_labelled_type_are_found(library):
    library["paper"].train_mask = torch.arange(PAPERS) < 20
    library["paper"].val_mask = (torch.arange(PAPERS) >= 20) & (torch.arange(PAPERS) < 30)
    gnn = to_hetero(Net(), library.metadata())
    found = CollectiveClassifier(gnn=gnn, **LITTLE).fit(library)
    given = CollectiveClassifier(gnn=gnn, **LITTLE).fit(library, range(20), range(20, 30))
    assert torch.equal(found.predict_proba(library), given.predict_proba(library))


def test_neighbours_of_another_type_tell(library):
    model = boosted(library, max_epochs=200, lr=0.05).fit(library, range(20), range(20, 30))
    seen = {int(a) for a in library["author", "writes", "paper"].edge_index[0, :20]}
    writers = library["author", "writes", "paper"].edge_index[0].tolist()
    test = [p for p in range(30, 40) if writers[p] in seen]
    assert model.score(library, test) == 1.0


def test_hidden_labels_change_nothing(library):
    other = library.clone()
    other["paper"].y[30:] = 1 - other["paper"].y[30:]
    found = []
    for data in (library, other):
        torch.manual_seed(0)
        model = boosted(data, test_labels="partial").fit(data, range(20), range(20, 30))
        found.append(model.predict_proba(data, range(20)))
    assert torch.equal(*found)


def test_the_labels_of_the_labelled_type_alone_are_input(library):
    seen = []

    class Watch(Own):
        def forward(self, x_dict, edge_index_dict):
            seen.append({name: x.size(1) for name, x in x_dict.items()})
            return super().forward(x_dict, edge_index_dict)

    boosted(library, Watch).fit(library, range(20))
    assert {shape["author"] for shape in seen} == {AUTHORS}
    assert {shape["paper"] for shape in seen} == {4 + 2}


def test_the_other_estimators_and_resume(library, tmp_path):
    numbers, several = library.clone(), library.clone()
    numbers["paper"].y = torch.rand(PAPERS)
    several["paper"].y = torch.stack([library["paper"].y, 1 - library["paper"].y], dim=1)
    gnn = to_hetero(Net(), library.metadata())
    assert CollectiveRegressor(gnn=gnn, **LITTLE).fit(numbers, range(20)).predict(numbers).shape == (PAPERS,)
    model = CollectiveMultiLabelClassifier(gnn=gnn, **LITTLE).fit(several, range(20))
    assert model.predict(several).shape == (PAPERS, 2)
    whole = CollectiveClassifier(gnn=gnn, **LITTLE).fit(library, range(20))
    again = CollectiveClassifier(gnn=gnn, **LITTLE).fit(library, range(20), checkpoint=tmp_path / "c")
    assert torch.equal(whole.predict_proba(library), again.predict_proba(library))
    whole.save(tmp_path / "m")
    loaded = clgnn.load(tmp_path / "m", gnn=gnn)
    assert torch.equal(loaded.predict_proba(library), whole.predict_proba(library))


def test_what_can_not_be_is_refused(library):
    with pytest.raises(ValueError, match="gnn is 'gcn', which knows one type of nodes"):
        CollectiveClassifier(**LITTLE).fit(library, range(20))
    with pytest.raises(ValueError, match="ICA knows one type of nodes"):
        baselines.make("ica").fit(library, range(20))
    with pytest.raises(ValueError, match="not in a list"):
        as_graph([library])
    for change, said in (
        (lambda d: setattr(d["author"], "y", torch.zeros(AUTHORS)), "labels y for 2 types of nodes"),
        (lambda d: d["paper"].pop("y"), "labels y for 0 types of nodes"),
        (lambda d: d["author"].pop("x"), "the nodes of type 'author' have no x"),
        (lambda d: d["author", "writes", "paper"].edge_index.add_(99), "expected 0..14 and 0..39"),
    ):
        wrong = library.clone()
        change(wrong)
        with pytest.raises(ValueError, match=said):
            labelled_part(wrong)
