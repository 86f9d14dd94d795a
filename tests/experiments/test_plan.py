import json
from pathlib import Path

import pandas as pd
import pytest

from clgnn import baselines
from clgnn.data.datasets import FACEBOOK100
from clgnn.experiments.methods import CELL, TRAINS_ON_TEST_GRAPH, gnn_of, methods
from clgnn.experiments.plan import (
    EXPERIMENTS,
    TUNING_SPLITS,
    Trial,
    cells,
    config_text,
    experiments,
    read_config,
    trial_of,
    trials,
    tuning,
)
from clgnn.experiments.published import published

EXPORT = Path(__file__).parents[2] / "docs" / "results" / "0.1" / "trials.csv"


@pytest.mark.parametrize("table", ["main", "learning_curve", "ablation_uniform"])
def test_every_cell_that_the_paper_reports_is_planned(table):
    reported = set(published(table)[CELL].itertuples(index=False, name=None))
    assert reported <= set(experiments()[table.replace("_", "-")])


def test_every_experiment_has_cells_and_every_rival_is_a_method():
    assert list(experiments()) == list(EXPERIMENTS)
    assert all(experiments().values())
    assert set(baselines.METHODS) <= set(methods())
    rivals = {name for name in baselines.METHODS if baselines.make(name).trains_on_observed}
    assert rivals == {name for name in TRAINS_ON_TEST_GRAPH if "+" not in name}


@pytest.mark.parametrize("method", [name for name in methods() if gnn_of(name) or name in baselines.METHODS])
def test_methods_that_learn_from_test_labels_are_marked(method):
    model = trial_of(("cora", 85, 50, method), 0, read_config()).model()
    assert model.trains_on_observed == (method in TRAINS_ON_TEST_GRAPH)


def test_all_labels_of_gcn_by_either_name_are_the_same_model():
    for boost, rival in (("all-labels", "gnn_all_labels"), ("cl-all-labels", "cl_all_labels")):
        ours, other = (
            trial_of(("cora", 85, 50, name), 0, read_config()).model().get_params()
            for name in (f"gcn+{boost}", rival)
        )
        assert ours == other


def test_the_papers_settings():
    config = read_config()
    boosted = trial_of(("cora", 85, 0, "gcn+cl"), 3, config).model()
    assert (boosted.num_samples, boosted.num_iterations, boosted.max_epochs) == (10, 3, 500)
    assert (boosted.weight_decay, boosted.dropout, boosted.seed) == (5e-4, 0.5, 3)
    partial = trial_of(("friendster", 641, 50, "tk+cl"), 0, config).model()
    assert (partial.num_samples, partial.num_iterations, partial.max_epochs) == (8, 10, 100)
    assert (partial.gnn, partial.test_labels, partial.metric) == ("tk", "partial", "balanced_accuracy")
    assert config.grid == {"lr": [0.005, 0.01, 0.05], "hidden_channels": [16, 32]}


def test_a_plain_gnn_differs_in_its_iterations_and_has_as_many_epochs():
    plain, boosted = (
        json.loads(trial_of(("pubmed", 300, 0, method), 0, read_config()).settings)
        for method in ("sage", "sage+cl")
    )
    differing = {name for name in boosted if plain[name] != boosted[name]}
    assert differing == {"num_iterations", "max_epochs", "patience"}
    assert plain["num_iterations"] == 0
    assert plain["max_epochs"] == 4 * boosted["max_epochs"]


@pytest.mark.parametrize("start", ['"auto"', '["pl_em"]', '"plain"'])
def test_a_plain_gnn_is_plain_whatever_its_boosted_self_starts_from(start, tmp_path):
    (tmp_path / "own.toml").write_text(f"[[rule]]\nset = {{ start = {start} }}")
    config = read_config(tmp_path / "own.toml")

    def model(method):
        return trial_of(("cora", 85, 50, method), 0, config).model()

    assert model("gcn+cl").start == json.loads(start)
    for plain in ("gcn", "gcn+all-labels", "gnn_all_labels", "column_network"):
        assert (model(plain).start, model(plain).num_iterations) == ("plain", 0)
    assert model("correct_and_smooth").base.start == "plain"
    assert model("gcn+start-mean").start == ["plain", "pl_em", "gmnn"]


def test_rivals_with_a_training_of_their_own_keep_their_own_settings():
    model = trial_of(("cora", 85, 50, "gmnn"), 0, read_config()).model()
    assert (model.lr, model.test_labels) == (0.05, "partial")
    shared = trial_of(("cora", 85, 50, "rcc"), 0, read_config()).model()
    assert (shared.num_iterations, shared.labels) == (10, "soft")


def test_rules_of_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        config_text()
        + '[[rule]]\nfor = { dataset = "cora", gnn = "tk" }\nset = { lr = 0.2 }\n'
        + '[[rule]]\nfor = { method = "gmnn" }\nset = { lr = 0.3 }\n'
    )
    config = read_config(path)
    assert json.loads(trial_of(("cora", 85, 0, "tk"), 0, config).settings)["lr"] == 0.2
    assert json.loads(trial_of(("cora", 85, 0, "gcn"), 0, config).settings)["lr"] == 0.01
    assert json.loads(trial_of(("cora", 85, 0, "gmnn"), 0, config).settings)["lr"] == 0.3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule]\n", "is no TOML"),
        ("[[rule]]\nfor = { gn = 'tk' }", r"a rule in .* is for 'gn'; expected dataset"),
        ("[[rule]]\nwhen = 3", r"a rule in .* has 'when'; expected for and set"),
        ("[rules]\na = 1", r"has 'rules'; expected \[\[rule\]\] and \[grid\]"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_config(path)


def test_a_setting_that_no_method_has_is_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[[rule]]\nset = { learning_rate = 0.1 }")
    with pytest.raises(ValueError, match="'learning_rate' is no setting of gcn"):
        trial_of(("cora", 85, 0, "gcn"), 0, read_config(path))


def test_the_key_is_of_all_that_the_result_depends_on():
    config = read_config()
    cell = ("cora", 85, 0, "gcn")
    keys = {
        trial_of(cell, 0, config).key,
        trial_of(cell, 1, config).key,
        trial_of(cell, 0, config, lr=0.02).key,
        trial_of(("cora", 85, 50, "gcn"), 0, config).key,
        trial_of(("cora", 85, 0, "gcn+cl"), 0, config).key,
    }
    assert len(keys) == 5
    assert trial_of(cell, 0, config).key == trial_of(cell, 0, config).key


def test_a_key_never_changes():
    """Ledgers that are there know their trials by it."""
    settings = json.dumps({"gnn": "gcn", "lr": 0.05}, sort_keys=True)
    assert Trial("cora", 85, 0, "gcn", 0, settings).key == "213bfa01d3352038236687f064b2572d"


@pytest.mark.skipif(not EXPORT.exists(), reason="the results are not here")
def test_the_trials_of_the_results_are_found_again():
    export = pd.read_csv(EXPORT, usecols=["key", "method"])
    config = read_config(EXPORT.with_name("settings.toml"))
    ran = [cell for cell in cells("main", ["cora"]) if cell[3] in set(export["method"])]
    planned = trials(dict.fromkeys(ran, 5), config)
    assert len(planned) > 100
    assert {trial.key for trial in planned} <= set(export["key"])
    boosted = next(trial for trial in planned if trial.method == "gcn+cl").model()
    assert boosted.start == "paper"  # what a ledger of version 0.1 does not name


def test_tables_share_their_trials():
    main, curve = set(cells("main")), set(cells("learning-curve"))
    assert ("cora", 85, 0, "gcn+cl") in main & curve
    assert len(cells("all")) == len(set(cells("all")))


def test_wrong_names_are_refused_with_the_right_ones():
    with pytest.raises(ValueError, match=r"dataset is 'coral'; expected cora"):
        cells("main", ["coral"])
    with pytest.raises(ValueError, match=r"method is 'gnc'; expected gcn"):
        cells("main", [], ["gnc"])
    with pytest.raises(ValueError, match="experiment is 'mean'"):
        cells("mean")
    with pytest.raises(ValueError, match="has none of these methods on these datasets"):
        cells("ablation-predicted", ["protein"])
    assert cells("main", ["facebook"], ["gcn"])[0][0] == FACEBOOK100


def test_every_method_has_a_model():
    for name in methods():
        model = trial_of(("cora", 85, 50, name), 7, read_config()).model()
        assert model.seed == 7
        assert model.get_params().get("test_labels", "partial") == ("none" if name == "rni" else "partial")


def test_the_first_trials_cover_all_cells():
    wanted = cells("main", ["cora"])
    planned = trials(dict.fromkeys(wanted, 3) | {wanted[0]: 4}, read_config())
    number = len(wanted)
    assert [trial.trial for trial in planned] == [0] * number + [1] * number + [2] * number + [3]


def test_plain_and_boosted_are_tuned_alike_on_splits_of_their_own():
    chosen = cells("main", ["cora"], ["gcn", "gcn+cl", "ica"])
    points = {}
    for cell, point, searched in tuning(chosen, read_config()):
        points.setdefault(cell[3], []).append(point)
        assert [trial.trial for trial in searched] == list(TUNING_SPLITS)
    assert points["gcn"] == points["gcn+cl"]
    assert set(points) == {"gcn", "gcn+cl"}
    assert len(points["gcn"]) == 2 * 6
