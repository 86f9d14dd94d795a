"""scikit-learn's own checks, as far as they can apply to estimators that take graphs."""

import numpy as np
import pytest
import torch
from sklearn.utils.estimator_checks import estimator_checks_generator
from torch_geometric.data import Data

from clgnn import CollectiveClassifier, CollectiveRegressor

QUICK = {"max_epochs": 2, "num_iterations": 1, "num_samples": 2, "hidden_channels": 4}
NO_FIT = {
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
}
"""They fit nothing, or never get so far: they hold for our estimators as they are."""
WITH_FIT = {
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_n_features_in",
    "check_pipeline_consistency",
    "check_readonly_memmap_input",
}
"""They fit a table X and labels y: they hold where each row is a node without edges."""


def as_nodes(X, y=None):
    """A table as a graph without edges."""
    X = np.array(X, dtype=np.float32)
    data = Data(x=torch.from_numpy(X), edge_index=torch.empty(2, 0, dtype=torch.long))
    if y is not None:
        data.y = torch.from_numpy(np.array(y))
    return data


class RowClassifier(CollectiveClassifier):
    """A classifier of the rows of a table."""

    def fit(self, X, y):
        data = as_nodes(X, np.unique(y, return_inverse=True)[1])
        return super().fit(data, range(len(data.x)))

    def predict(self, X):
        return super().predict(as_nodes(X)).numpy()

    def predict_proba(self, X):
        return super().predict_proba(as_nodes(X)).numpy()

    def score(self, X, y):
        return float((self.predict(X) == np.unique(y, return_inverse=True)[1]).mean())


class RowRegressor(CollectiveRegressor):
    """A regressor of the rows of a table."""

    def fit(self, X, y):
        data = as_nodes(X, np.asarray(y, dtype=float))
        return super().fit(data, range(len(data.x)))

    def predict(self, X):
        return super().predict(as_nodes(X)).numpy()

    def predict_proba(self, X):
        return super().predict_proba(as_nodes(X)).numpy()

    def score(self, X, y):
        return -float(((self.predict(X) - np.asarray(y)) ** 2).mean())


def named(check):
    return getattr(check, "func", check).__name__


def checks(estimator, names):
    return [
        pytest.param(made, check, id=f"{type(made).__name__}-{named(check)}-{i}")
        for i, (made, check) in enumerate(estimator_checks_generator(estimator))
        if named(check) in names
    ]


@pytest.mark.parametrize(
    ("estimator", "check"),
    [c for kind in (CollectiveClassifier, CollectiveRegressor) for c in checks(kind(**QUICK), NO_FIT)]
    + [c for kind in (RowClassifier, RowRegressor) for c in checks(kind(**QUICK), WITH_FIT)],
)
def test_checks_of_scikit_learn_hold(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [CollectiveClassifier, RowClassifier])
def test_no_check_is_left_out_unseen(kind):
    """A new version of scikit-learn that drops or renames a check is noticed."""
    there = {named(check) for _, check in estimator_checks_generator(kind(**QUICK))}
    assert not (NO_FIT | WITH_FIT) - there
