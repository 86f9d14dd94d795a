import tomllib
from dataclasses import replace

import pytest

from clgnn.experiments.ledger import Ledger
from clgnn.experiments.methods import CELL
from clgnn.experiments.plan import cells, read_config, trial_of
from clgnn.experiments.reproduce import tuned, tuned_text


def searched(folder, config, cell, values):
    """A ledger with the validation metric of each point of the grid and split."""
    ledger = Ledger(folder)
    for (lr, number), value in values.items():
        key = trial_of(cell, number, config, lr=lr).key
        facts = dict(zip(CELL, cell, strict=True))
        ledger.write(
            {"key": key, "role": "other", **facts, "trial": number, "settings": {}, "status": "done",
             "validation": value, "metrics": {"accuracy": 1 - value}, "finished": "2026-01-01"}
        )  # fmt: skip
    return ledger


@pytest.mark.parametrize(("metric", "best"), [(None, 0.05), ("log_loss", 0.01)])
def test_tuning_takes_the_best_on_validation_over_all_its_splits(tmp_path, metric, best):
    config = read_config(quick=True)
    config = replace(config, rules=(*config.rules, ({}, {"metric": metric})), grid={"lr": [0.01, 0.05]})
    cell = cells("main", ["cora"], ["gcn"])[0]
    values = {(0.01, 1000): 0.9, (0.01, 1001): 0.1, (0.05, 1000): 0.6, (0.05, 1001): 0.6}
    found = tuned([cell], config, searched(tmp_path, config, cell, values))
    assert found == {cell: {"lr": best}}
    (rule,) = tomllib.loads(tuned_text(found))["rule"]
    assert rule["set"] == {"lr": best}
    assert rule["for"] == dict(zip(CELL, cell, strict=True))


def test_a_point_that_is_not_done_on_every_split_is_not_chosen(tmp_path):
    config = replace(read_config(quick=True), grid={"lr": [0.01, 0.05]})
    cell = cells("main", ["cora"], ["gcn"])[0]
    values = {(0.01, 1000): 0.9, (0.05, 1000): 0.6, (0.05, 1001): 0.6}
    assert tuned([cell], config, searched(tmp_path, config, cell, values)) == {cell: {"lr": 0.05}}
