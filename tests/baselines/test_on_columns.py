import json

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from torch_geometric.data import Data

from clgnn import baselines
from clgnn.baselines.on_columns import OnColumns


class OfOnesOwn(ClassifierMixin, BaseEstimator):
    def fit(self, x, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, x):
        return np.full((x.shape[0], len(self.classes_)), 1 / len(self.classes_))


CLASSIFIERS = [
    LogisticRegression(C=0.3),
    GaussianNB(),
    SVC(probability=True, gamma=np.float64(0.5)),
    RandomForestClassifier(n_estimators=5),
    MLPClassifier(hidden_layer_sizes=(4, 3), max_iter=2000),
    make_pipeline(MinMaxScaler(feature_range=(-1, 1)), SelectKBest(f_classif, k=2), KNeighborsClassifier(3)),
    VotingClassifier([("a", GaussianNB()), ("b", RandomForestClassifier(3))], voting="soft"),
]


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_saved_and_loaded_it_says_the_same(classifier, graph, split, tmp_path):
    model = OnColumns(classifier, seed=4).fit(graph, split.train_mask, split.val_mask)
    model.save(tmp_path / "model")
    again = baselines.load(tmp_path / "model")
    expected = model.predict_proba(graph)
    assert torch.equal(again.predict_proba(graph), expected)
    assert torch.equal(
        OnColumns(classifier, seed=4).fit(graph, split.train_mask).predict_proba(graph), expected
    )
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {".json", ".safetensors"}


def test_sparse_features_too(graph, split, tmp_path):
    every_twelfth = (torch.arange(graph.x.numel()) % 12 == 0).view_as(graph.x)
    sparse = Data(
        x=(graph.x + 1).where(every_twelfth, 0).to_sparse_csr(), y=graph.y, edge_index=graph.edge_index
    )
    model = OnColumns(LogisticRegression()).fit(sparse, split.train_mask)
    model.save(tmp_path / "model")
    assert torch.equal(baselines.load(tmp_path / "model").predict_proba(sparse), model.predict_proba(sparse))
    assert model.rows_.dim() == 1


def test_a_model_holds_the_training_rows_and_no_others(graph, split):
    model = OnColumns(GaussianNB()).fit(graph, split.train_mask)
    assert torch.equal(model.rows_, graph.x[split.train_mask])
    assert torch.equal(model.classes_[model.targets_], graph.y[split.train_mask])


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        (OfOnesOwn(), "a OfOnesOwn, which is no class of scikit-learn, can't be saved.*start='given'"),
        (make_pipeline(GaussianNB(), memory="folder"), "a Pipeline, whose memory is a folder of pickles"),
        (
            KNeighborsClassifier(metric=lambda a, b: abs(a - b).sum()),
            "which has a function among its parameters",
        ),
        (make_pipeline(MinMaxScaler(), OfOnesOwn()), "a OfOnesOwn, which is no class of scikit-learn"),
    ],
)
def test_what_would_be_code_is_not_saved(classifier, message, graph, split, tmp_path):
    model = OnColumns(classifier)
    model.fit(graph, split.train_mask)
    with pytest.raises(ValueError, match=message):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


LOGISTIC = {"class": "linear_model.LogisticRegression", "parameters": {}}


@pytest.mark.parametrize(
    "recipe",
    [
        {"class": "os.system", "parameters": {}},
        {"class": "os.system", "parameters": {"command": "mkdir harmed"}},
        {"class": "utils.discovery", "parameters": {}},
        {"class": "model_selection.train_test_split", "parameters": {}},
        {"class": "linear_model._logistic.LogisticRegression", "parameters": {}},
        {"class": "pipeline.Pipeline", "parameters": {"memory": ".", "steps": {"tuple": []}}},
        {
            "class": "pipeline.Pipeline",
            "parameters": {"steps": [{"tuple": ["a", {"class": "os.system", "parameters": {}}]}]},
        },
        {"class": "linear_model.LogisticRegression", "parameters": {"nothing": 1}},
        {"class": "linear_model.LogisticRegression", "parameters": {"C": {}}},
        {"class": "linear_model.LogisticRegression"},
        "linear_model.LogisticRegression",
        None,
    ],
    ids=str,
)
def test_a_file_can_ask_for_no_other_code(recipe, graph, split, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    OnColumns(LogisticRegression()).fit(graph, split.train_mask).save("model")
    path = tmp_path / "model" / "model.json"
    content = json.loads(path.read_text())
    assert content["parameters"]["classifier"] == LOGISTIC
    content["parameters"]["classifier"] = recipe
    path.write_text(json.dumps({**content, "sha256": None}))
    with pytest.raises(ValueError, match="damaged"):
        baselines.load("model")
    assert not (tmp_path / "harmed").exists()


def test_another_version_that_predicts_something_else_is_refused(graph, split, tmp_path):
    model = OnColumns(LogisticRegression()).fit(graph, split.train_mask)
    model.expected_, model.version_ = model.expected_.flip(1), "0.1"
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"its LogisticRegression was fitted by scikit-learn 0\.1, and "):
        baselines.load(tmp_path / "model")


def test_the_seed_is_the_random_state_of_a_classifier_without(graph, split):
    def run(seed, **settings):
        forest = RandomForestClassifier(3, **settings)
        return OnColumns(forest, seed=seed).fit(graph, split.train_mask).predict_proba(graph)

    assert torch.equal(run(2**40 + 5), run(5))
    assert not torch.equal(run(5), run(6))
    assert torch.equal(run(5, random_state=1), run(6, random_state=1))


def test_edges_are_not_looked_at(graph, split):
    alone = Data(x=graph.x, y=graph.y, edge_index=graph.edge_index[:, :0])
    model = OnColumns(LogisticRegression()).fit(graph, split.train_mask)
    assert torch.equal(model.predict_proba(alone), model.predict_proba(graph))
