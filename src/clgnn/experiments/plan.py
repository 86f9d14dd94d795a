"""Which trials an experiment has: the cells of the paper's tables, and the settings of each."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

from clgnn import relational, splits
from clgnn.estimator import CollectiveClassifier, all_epochs

FACEBOOK = "facebook100/johns_hopkins55"
"""What stands in for the paper's Facebook, which was never published."""
DATASETS = ("cora", "pubmed", "friendster", FACEBOOK, "protein")
GNNS = ("gcn", "sage", "tk")
RIVALS = ("pl_em", "ica", "gmnn", "random")
"""The paper's."""
EXTRA = (
    "label_propagation",
    "correct_and_smooth",
    "label_reuse",
    "rcc",
    "rni",
    "gnn_all_labels",
    "cl_all_labels",
)
"""Rivals that the paper does not have."""
NEEDS_TEST_LABELS = frozenset(
    {"label_propagation", "correct_and_smooth", "label_reuse", "gnn_all_labels", "cl_all_labels"}
)
"""Without labels in the test graph these are nothing, or the plain GNN."""
TUNING_SPLITS = (1000, 1001)
_OWN_TRAINING = frozenset({*RIVALS, "label_propagation"})
_GENERAL = ("test_labels", "metric", "class_weight")
_FOR = ("dataset", "train_labels", "test_label_percent", "gnn", "method")


@dataclass(frozen=True)
class Trial:
    """One fit and its test.

    Attributes:
        dataset: its name.
        train_labels: as the paper's tables print it.
        test_label_percent: 0 or 50.
        method: a GNN (``"gcn"``), its boosted self (``"gcn+cl"``; for the ablations with ``-uniform`` or
            ``-observed`` labels), or a rival.
        trial: the number of the split, and the seed of the method.
        settings: of the method, as JSON with sorted keys; what they leave out is at its default.
    """

    dataset: str
    train_labels: int
    test_label_percent: int
    method: str
    trial: int
    settings: str

    @property
    def cell(self) -> tuple[str, int, int, str]:
        """Where in a table it belongs."""
        return self.dataset, self.train_labels, self.test_label_percent, self.method

    @property
    def key(self) -> str:
        content = json.dumps([*self.cell, self.trial, json.loads(self.settings)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def model(self) -> relational.Rival:
        """The method, yet to be fitted."""
        given = {**json.loads(self.settings), "seed": self.trial}
        if _gnn(self.method) is None:
            return relational.make(self.method, **given)
        return CollectiveClassifier(**given)


@dataclass(frozen=True)
class Config:
    """Settings by rules, and the grid that tuning searches; see ``paper.toml``.

    Attributes:
        rules: pairs of conditions and settings, the later over the earlier ones.
        grid: the values to try of each setting.
    """

    rules: tuple[tuple[dict[str, Any], dict[str, Any]], ...]
    grid: dict[str, list[Any]]

    def settings(self, cell: tuple[str, int, int, str]) -> dict[str, Any]:
        """What the rules set for a cell.

        Example:
            >>> config = read_config()
            >>> config.settings(("friendster", 641, 50, "gcn+cl"))["num_samples"]
            8
        """
        dataset, train_labels, percent, method = cell
        facts = dict(zip(_FOR, (dataset, train_labels, percent, _gnn(method) or "gcn", method), strict=True))
        found: dict[str, Any] = {}
        for conditions, values in self.rules:
            if all(facts[name] == value for name, value in conditions.items()):
                found |= values
        return found

    def own_settings(self, cell: tuple[str, int, int, str]) -> dict[str, Any]:
        """Those of the rules that name the method."""
        only = tuple(rule for rule in self.rules if rule[0].get("method") == cell[3])
        return replace(self, rules=only).settings(cell)


def read_config(path: str | PathLike[str] | None = None, quick: bool = False) -> Config:
    """The paper's settings, or those of a TOML file like it; with ``quick``, cut down to seconds."""
    texts = [Path(path).read_text(encoding="utf-8") if path is not None else config_text()]
    if quick:
        texts.append(config_text("quick.toml"))
    rules: list[tuple[dict[str, Any], dict[str, Any]]] = []
    grid: dict[str, list[Any]] = {}
    for text in texts:
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path} is no TOML ({error}); see `clgnn reproduce --print-config`") from error
        for rule in content.get("rule", []):
            conditions, values = rule.get("for", {}), rule.get("set", {})
            for name in conditions.keys() - set(_FOR):
                raise ValueError(f"a rule is for {name!r}; expected {', '.join(_FOR)}")
            for name in rule.keys() - {"for", "set"}:
                raise ValueError(f"a rule has {name!r}; expected for and set")
            rules.append((conditions, values))
        for name in content.keys() - {"rule", "grid"}:
            raise ValueError(f"{path} has {name!r}; expected [[rule]] and [grid]")
        grid |= content.get("grid", {})
    return Config(tuple(rules), grid)


def config_text(name: str = "paper.toml") -> str:
    """A configuration of ours, to copy."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _gnn(method: str) -> str | None:
    gnn = method.partition("+")[0]
    return gnn if gnn in GNNS else None


def trial_of(cell: tuple[str, int, int, str], number: int, config: Config, **tuned: Any) -> Trial:
    """A trial with the settings of a configuration, and others over them.

    Raises:
        ValueError: if there is no such method, or no such setting.
    """
    dataset, train_labels, percent, method = cell
    gnn, boost = _gnn(method), method.partition("+")[2]
    defaults = {
        name: getattr(CollectiveClassifier, name) for name in ("max_epochs", "patience", "num_iterations")
    }
    general = defaults | config.settings(cell) | tuned
    if gnn is not None:
        variants = {"": "sampled", "cl": "sampled", "cl-uniform": "uniform", "cl-observed": "observed"}
        if boost not in variants:
            raise ValueError(f"method is {method!r}; expected {', '.join(methods())}")
        given = {**general, "gnn": gnn, "labels": variants[boost]}
        if not boost:
            given |= {"num_iterations": 0, **all_epochs(general)}
        for name in given.keys() - CollectiveClassifier().get_params(deep=False).keys():
            raise ValueError(f"{name!r} is no setting of {method}; see CollectiveClassifier")
    elif method in relational.METHODS:
        shared = {name: value for name, value in general.items() if name in _GENERAL}
        given = shared if method in _OWN_TRAINING else {**general, "gnn": "gcn"}
        if method in relational.PLAIN:
            given = {**given, **all_epochs(general)}
        given = {**given, **config.own_settings(cell), **tuned}
    else:
        raise ValueError(f"method is {method!r}; expected {', '.join(methods())}")
    return Trial(dataset, train_labels, percent, method, number, json.dumps(given, sort_keys=True))


def methods() -> list[str]:
    """The names that ``--methods`` takes."""
    ours = [f"{gnn}{boost}" for gnn in GNNS for boost in ("", "+cl", "+cl-uniform", "+cl-observed")]
    return [*ours, *RIVALS, *EXTRA]


def _cells(
    datasets: Iterable[str], percents: Sequence[int], names: Iterable[str], all_columns: bool = False
) -> list[tuple[str, int, int, str]]:
    columns = [
        (dataset, labels)
        for dataset in datasets
        for labels in (splits.COLUMNS[dataset] if all_columns else splits.COLUMNS[dataset][:1])
    ]
    return [
        (dataset, labels, percent, name)
        for name in names
        for dataset, labels in columns
        for percent in percents
        if percent or name not in NEEDS_TEST_LABELS
    ]


_PLAIN_AND_CL = [f"{gnn}{boost}" for gnn in GNNS for boost in ("", "+cl")]

EXPERIMENTS: Mapping[str, list[tuple[str, int, int, str]]] = {
    "main": _cells(DATASETS, (0, 50), [*_PLAIN_AND_CL, *RIVALS, *EXTRA]),
    "learning-curve": _cells(("cora", "pubmed"), (0, 50), [*_PLAIN_AND_CL, *RIVALS[:3]], all_columns=True),
    "ablation-uniform": _cells(
        DATASETS, (0,), [f"{gnn}{boost}" for gnn in GNNS for boost in ("", "+cl-uniform")], all_columns=True
    ),
    "ablation-predicted": [
        *_cells(("cora",), (50,), ["gcn+cl", "gcn+cl-observed"]),
        *_cells(("pubmed",), (50,), ["tk+cl", "tk+cl-observed"]),
    ],
    "running-time": _cells(
        ("cora", "pubmed", "friendster", FACEBOOK), (0, 50), ["gcn", "gcn+cl", "tk", "tk+cl"]
    ),
}
"""The cells (dataset, train_labels, test_label_percent, method) of each table and figure of the paper."""


def cells(
    experiment: str, datasets: Sequence[str] = (), names: Sequence[str] = ()
) -> list[tuple[str, int, int, str]]:
    """The cells of an experiment, or of ``"all"``, on some datasets and for some methods.

    Example:
        >>> cells("main", ["cora"], ["gcn"])
        [('cora', 85, 0, 'gcn'), ('cora', 85, 50, 'gcn')]
    """
    if experiment != "all" and experiment not in EXPERIMENTS:
        raise ValueError(f"experiment is {experiment!r}; expected {', '.join(EXPERIMENTS)} or all")
    wanted = [FACEBOOK if name in ("facebook", "facebook100") else name for name in datasets]
    for name in wanted:
        if name not in DATASETS:
            raise ValueError(f"dataset is {name!r}; expected {', '.join(DATASETS)}")
    for name in names:
        if name not in methods():
            raise ValueError(f"method is {name!r}; expected {', '.join(methods())}")
    chosen = EXPERIMENTS.values() if experiment == "all" else [EXPERIMENTS[experiment]]
    found = dict.fromkeys(cell for some in chosen for cell in some)  # each once, in order
    return [cell for cell in found if (not wanted or cell[0] in wanted) and (not names or cell[3] in names)]


def trials(
    chosen: Sequence[tuple[str, int, int, str]],
    number: int,
    config: Config,
    tuned: Mapping[tuple[str, int, int, str], Mapping[str, Any]] | None = None,
) -> list[Trial]:
    """So many trials of each cell; first those with number 0, so that there soon is a bit of everything."""
    best = tuned or {}
    return [trial_of(cell, i, config, **best.get(cell, {})) for i in range(number) for cell in chosen]


def tuning(
    chosen: Sequence[tuple[str, int, int, str]], config: Config
) -> Iterator[tuple[tuple[str, int, int, str], dict[str, Any], list[Trial]]]:
    """The trials of the grid: for each cell of a GNN, plain and boosted alike, every combination.

    They have splits of their own, which no result comes from.
    """
    for cell in chosen:
        if _gnn(cell[3]) is None:
            continue
        for values in product(*config.grid.values()):
            point = dict(zip(config.grid, values, strict=True))
            yield cell, point, [trial_of(cell, number, config, **point) for number in TUNING_SPLITS]
