"""Callbacks see a fit and can end it; optimiser, learning rates and loss can be one's own."""

import csv
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from clgnn import CollectiveClassifier, CollectiveRegressor, baselines
from clgnn.estimators.callbacks import Callback, CSVLog, OptunaPruning, TensorBoard

LITTLE = {"num_iterations": 2, "max_epochs": 6, "iteration_epochs": 4, "num_samples": 2, "hidden_channels": 4}


class Witness(Callback):
    def __init__(self, stop_epoch=None, stop_iteration=None):
        self.seen, self.stop_epoch, self.stop_iteration = [], stop_epoch, stop_iteration

    def before_fit(self, model):
        self.seen.append(("before", type(model).__name__))

    def after_epoch(self, model, epoch):
        self.seen.append((epoch.iteration, epoch.epoch))
        return (epoch.iteration, epoch.epoch) == self.stop_epoch

    def after_iteration(self, model, iteration):
        self.seen.append(("iteration", iteration.epochs[-1].iteration, len(iteration.epochs)))
        return iteration.epochs[-1].iteration == self.stop_iteration

    def after_fit(self, model):
        self.seen.append(("after", model.predict_proba(self.data).shape[1]))


@pytest.fixture
def fitted(graph):
    def fit(*callbacks, kind=CollectiveClassifier, checkpoint=None, **settings):
        for one in callbacks:
            if isinstance(one, Witness):
                one.data = graph
        model = kind(**{**LITTLE, **settings})
        return model.fit(graph, range(12), range(12, 18), callbacks=callbacks, checkpoint=checkpoint)

    return fit


def same(one, other, graph):
    return torch.equal(one.predict_proba(graph), other.predict_proba(graph))


def test_a_callback_sees_everything_in_order(fitted, graph):
    witness = Witness()
    model = fitted(witness)
    expected = [("before", "CollectiveClassifier")]
    for t, epochs in enumerate((6, 4, 4)):
        expected += [(t, e) for e in range(epochs)] + [("iteration", t, epochs)]
    assert witness.seen == [*expected, ("after", 3)]
    assert same(model, fitted(), graph), "watching changes nothing"


@pytest.mark.parametrize("start", ["plain", "paper"])
@pytest.mark.parametrize("t", [0, 1, 2])
def test_a_fit_that_is_ended_predicts_with_what_it_has(fitted, graph, t, start, tmp_path):
    model = fitted(Witness(stop_epoch=(t, 2)), start=start)
    assert len(model.components_) == t + 1
    assert model.history_["iteration"].max() == t
    assert (model.history_["iteration"] == t).sum() == 3
    assert model.predict_proba(graph).shape == (graph.num_nodes, 3)
    assert model.best_score_ is not None
    model.save(tmp_path / "m")
    assert same(CollectiveClassifier.load(tmp_path / "m"), model, graph)


def test_an_iteration_that_is_ended_is_as_if_its_patience_were_over(fitted, graph):
    ended = fitted(Witness(stop_epoch=(0, 2)), num_iterations=0)
    shorter = fitted(num_iterations=0, max_epochs=3)
    assert same(ended, shorter, graph)


def test_no_iteration_follows_one_after_which_it_is_ended(fitted, graph):
    model = fitted(Witness(stop_iteration=1))
    assert len(model.components_) == 2
    whole = fitted()
    assert all(
        torch.equal(a, b)
        for one, other in zip(model.components_, whole.components_, strict=False)
        for a, b in zip(one.parameters(), other.parameters(), strict=True)
    )


def test_a_plain_function_may_end_it_too(graph):
    model = CollectiveClassifier(**LITTLE)
    model.fit(graph, range(12), on_epoch=lambda epoch: epoch.epoch == 1)
    assert len(model.history_) == 2


def test_a_fit_that_was_ended_can_be_gone_on_with(fitted, graph, tmp_path):
    fitted(Witness(stop_epoch=(1, 1)), checkpoint=tmp_path / "c")
    again = Witness()
    model = fitted(again, checkpoint=tmp_path / "c")
    assert again.seen[1] == (1, 0), "iteration 0 is finished, and iteration 1 is learned again"
    assert same(model, fitted(), graph)


def test_what_is_no_callback_is_refused(fitted):
    with pytest.raises(ValueError, match="a callback is 3; expected a clgnn"):
        fitted(3)


def test_the_csv_log_has_the_history(fitted, tmp_path):
    path = tmp_path / "logs" / "fit.csv"
    model = fitted(CSVLog(path))
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == pytest.approx(model.history_["loss"].tolist())
    assert [int(row["iteration"]) for row in rows] == model.history_["iteration"].tolist()
    with pytest.raises(FileExistsError):
        fitted(CSVLog(path))


def test_tensorboard_has_a_run_for_each_iteration(fitted, tmp_path):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    model = fitted(TensorBoard(tmp_path))
    for t in range(3):
        events = reader.EventAccumulator(str(tmp_path / f"iteration_{t}")).Reload()
        losses = [event.value for event in events.Scalars("loss")]
        assert losses == pytest.approx(model.history_.query("iteration == @t")["loss"].tolist(), rel=1e-5)
        assert len(events.Scalars("val_accuracy")) == len(losses)


def test_optuna_prunes(fitted):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    class Never(optuna.pruners.BasePruner):
        def prune(self, study, trial):
            return trial.number == 1 and trial.last_step == 4

    study = optuna.create_study(direction="maximize", pruner=Never())
    study.optimize(lambda trial: fitted(OptunaPruning(trial, every=2)).best_score_, n_trials=2)
    first, second = study.trials
    assert first.state == optuna.trial.TrialState.COMPLETE
    assert second.state == optuna.trial.TrialState.PRUNED
    assert list(first.intermediate_values) == [2, 4, 6, 8, 10, 12, 14]
    assert max(first.intermediate_values.values()) == pytest.approx(first.value)
    assert list(second.intermediate_values) == [2, 4]


def test_an_optimiser_of_ones_own(fitted, graph, tmp_path):
    def adam_of(parameters):
        return torch.optim.Adam(parameters, lr=0.01, weight_decay=5e-4, fused=True)

    adam = fitted(optimizer=adam_of)
    assert same(adam, fitted(), graph)
    sgd = fitted(optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.5))
    assert not same(sgd, adam, graph)
    sgd.save(tmp_path / "m")
    assert same(CollectiveClassifier.load(tmp_path / "m"), sgd, graph)


def test_a_schedule_of_learning_rates(fitted, graph):
    rates = []

    def scheduler(optimizer):
        made = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
        rates.append(made)
        return made

    model = fitted(scheduler=scheduler)
    assert len(rates) == 3, "each iteration has its own"
    assert rates[0].get_last_lr()[0] == pytest.approx(0.01 * 0.1**3)
    constant = fitted(scheduler=lambda optimizer: torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0))
    assert same(constant, fitted(), graph)
    assert model.history_["loss"].tolist() != constant.history_["loss"].tolist()


def test_a_schedule_that_waits_for_a_plateau_sees_the_validation_score(fitted):
    made = []

    def scheduler(optimizer):
        made.append(torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0))
        return made[-1]

    model = fitted(scheduler=scheduler, num_iterations=0)
    assert made[0].best == pytest.approx(-model.history_["val_accuracy"].max())


def test_a_loss_of_ones_own(fitted, graph):
    assert same(fitted(loss=F.cross_entropy), fitted(), graph)
    smooth = fitted(loss=lambda outputs, y: F.cross_entropy(outputs, y, label_smoothing=0.5))
    assert not same(smooth, fitted(), graph)


@pytest.mark.parametrize("name", ["optimizer", "scheduler", "loss", "metric"])
def test_a_function_that_gives_nothing_is_refused(name, fitted):
    with pytest.raises(ValueError, match=f"{name} gives NoneType; expected"):
        fitted(**{name: lambda *_: None})


@pytest.mark.parametrize("name", ["optimizer", "scheduler", "loss"])
def test_what_is_no_function_is_refused(fitted, name):
    with pytest.raises(ValueError, match=f"{name} is 'magic'; expected .*a function"):
        fitted(**{name: "magic"})


def test_numbers_and_rivals_on_the_same_loop(graph):
    numbers = graph.clone()
    numbers.y = graph.x[:, 0].clone()
    witness = Witness()
    witness.data = numbers
    CollectiveRegressor(**LITTLE).fit(numbers, range(12), callbacks=[witness])
    assert witness.seen[-1] == ("after", 2)
    rival = baselines.make("rcc", optimizer=torch.optim.Adagrad, **LITTLE).fit(graph, range(12))
    assert np.isfinite(rival.history_["loss"]).all()


def test_nan_is_left_blank_in_the_log(graph, tmp_path):
    CollectiveClassifier(**{**LITTLE, "eval_every": 4}).fit(
        graph, range(12), range(12, 18), callbacks=[CSVLog(tmp_path / "l.csv")]
    )
    with (tmp_path / "l.csv").open() as file:
        first = next(csv.DictReader(file))
    assert first["metric"] == ""
    assert not math.isnan(float(first["loss"]))
