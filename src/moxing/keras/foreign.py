"""Refuses arguments that `fit` of Keras or other runtimes have, with advice on the equivalent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from moxing.errors import MoxTypeError, near_matches

_FOLDER = "Use output_dir=, the folder of checkpoints and records."
_INSTEAD = {
    **dict.fromkeys(("log_dir", "logdir", "model_dir", "save_dir", "checkpoint_dir"), _FOLDER),
    "max_number_of_steps": "Use steps=, the total number of updates.",
    "max_steps": "Use steps=, the total number of updates.",
    "validation_batch_size": "Leave it out: batches of an evaluation are those of batch_size.",
    "validation_freq": "Use eval_every=, the steps between evaluations.",
    "initial_epoch": "Leave it out: with output_dir a run goes on from its last checkpoint.",
}


def refuse(keywords: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raises an error if there are keyword arguments that `fit` does not have.

    Args:
        keywords: the keyword arguments that `fit` could not use.
        known: the names of the parameters of `fit`.

    Raises:
        MoxTypeError: `keywords` is not empty; the message says what to write instead.
    """
    for name in keywords:
        advice = f" {_INSTEAD[name]}" if name in _INSTEAD else near_matches(name, known)
        raise MoxTypeError(f"moxing.keras.fit has no argument {name}.{advice}")
