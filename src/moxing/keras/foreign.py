"""What people used to Keras' own `fit` pass to ours: errors that say how it is written here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from moxing.engine.graph.structure import is_dataset
from moxing.errors import MoxTypeError, near_matches

_AHEAD = "Leave it out: data is read ahead by itself, fastest from a tf.data.Dataset."
_INSTEAD = {
    "x": "Give arrays together: fit(model, (x, y)).",
    "y": "Give arrays together: fit(model, (x, y)).",
    "sample_weight": "It is the third array: fit(model, (x, y, sample_weight)).",
    "class_weight": (
        "Give each sample the weight of its class, as the third array: fit(model, (x, y, weights)),"
        " with weights = np.vectorize(class_weight.get)(y)."
    ),
    "validation_data": "It is the third argument: fit(model, (x, y), (x_val, y_val)).",
    "validation_split": (
        "Split the arrays before: fit(model, (x[:n], y[:n]), (x[n:], y[n:])), with n ="
        " int(len(x) * (1 - validation_split))."
    ),
    "validation_batch_size": "Leave it out: batches of an evaluation are those of batch_size.",
    "validation_steps": "Use eval_steps=, the batches of an evaluation.",
    "validation_freq": "Use eval_every=, the steps between evaluations.",
    "initial_epoch": "Leave it out: with output_dir a run goes on from its last checkpoint.",
    "verbose": "Leave it out: log_every= says how many steps there are between log lines.",
    "max_queue_size": _AHEAD,
    "use_multiprocessing": _AHEAD,
    "workers": _AHEAD,
}


def refuse(keywords: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raises if there are keywords that `fit` does not have.

    Args:
        keywords: those.
        known: the names that it has.

    Raises:
        MoxTypeError: with what to write instead.
    """
    for name in keywords:
        advice = f" {_INSTEAD[name]}" if name in _INSTEAD else near_matches(name, known)
        raise MoxTypeError(f"moxing.keras.fit has no argument {name}.{advice}")


def check_labels(model: Any, train_data: Any, eval_data: Any) -> None:
    """Raises where y seems to be given as the third argument.

    Raises:
        MoxTypeError: arrays without labels twice, for a model whose loss needs labels.
    """
    if not getattr(model, "loss", None):
        return
    if all(_is_bare(data) for data in (train_data, eval_data)):
        raise MoxTypeError(
            "train_data has no labels, which the model's loss needs, and the third argument of"
            " moxing.keras.fit is eval_data, to evaluate on. Write fit(model, (x, y)) for"
            " fit(model, x, y)."
        )


def _is_bare(data: Any) -> bool:
    """Whether data is x alone, as far as it can be seen without calling it."""
    return not (data is None or isinstance(data, tuple) or callable(data) or is_dataset(data))
