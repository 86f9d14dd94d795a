"""The content of a report on a search for settings."""

from __future__ import annotations

import base64
import io
import warnings
from typing import TYPE_CHECKING, Any

from clgnn.report.evaluation import made_now, plain_setting

if TYPE_CHECKING:
    from clgnn.experiments.tuning import Tuned

_PICTURES = {
    "plot_optimization_history": ("The search", "The metric of each trial, and the best so far."),
    "plot_param_importances": ("What matters", "How much of the metric's variance each setting explains."),
    "plot_intermediate_values": (
        "Trials over time",
        "The best metric so far; trials that end early were pruned.",
    ),
}


def from_tuning(found: Tuned, name: str = "tuning") -> dict[str, Any]:
    """The content of a page on a search: what was found, Optuna's pictures of it, and every trial.

    Args:
        found: what :func:`clgnn.experiments.tuning.tune` gave.
        name: of the search.

    Returns:
        The content, for :func:`clgnn.report.page.page`.
    """
    trials = found.trials
    metric = found.metric.replace("_", " ")
    finished = int((trials["state"] == "complete").sum())
    rows = [
        ["–" if value != value else _text(value) for value in row] for row in trials.itertuples(index=False)
    ]
    return {
        "kind": "tuning",
        "title": f"{name}: a search for settings",
        "headline": f"The best of {len(trials)} settings has a validation {metric} of {found.score:.4f}.",
        "lead": f"{finished} trials came to their end, {len(trials) - finished} were pruned early. The "
        "validation labels chose: judge the winner on labels that neither training nor this search has seen.",
        "images": _images(found),
        "tables": [
            {
                "title": "The best settings",
                "caption": "For clgnn fit --config, in settings.toml",
                "columns": ["setting", "value"],
                "rows": [[key, _text(value)] for key, value in sorted(found.settings.items())],
                "text": [1],
            },
            {
                "title": "All trials",
                "caption": "In the order in which they began",
                "columns": [str(column) for column in trials.columns],
                "rows": rows,
            },
        ],
        "facts": made_now(),
        "notes": [],
    }


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(plain_setting(value))


def _images(found: Tuned) -> list[dict[str, str]]:
    """Optuna's own pictures as SVG; none without matplotlib, nor those that need more trials."""
    try:
        import matplotlib.pyplot as plt
        from optuna.visualization import matplotlib as pictures
    except ImportError:
        return []
    images = []
    for name, (title, caption) in _PICTURES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are experimental, and importances need several trials
            try:
                getattr(pictures, name)(found.study)
            except (ValueError, RuntimeError, ZeroDivisionError):
                continue
            figure = plt.gcf()
            kept = io.BytesIO()
            with plt.rc_context({"svg.hashsalt": "clgnn"}):
                figure.savefig(kept, format="svg", bbox_inches="tight", metadata={"Date": None})
            plt.close(figure)
        data = base64.b64encode(kept.getvalue()).decode()
        images.append({"title": title, "caption": caption, "source": f"data:image/svg+xml;base64,{data}"})
    return images
