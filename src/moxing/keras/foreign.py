"""What people used to Keras' own `fit` pass to ours: errors that say how it is written here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from moxing.errors import MoxTypeError, near_matches

_INSTEAD = {
    "validation_batch_size": "Leave it out: batches of an evaluation are those of batch_size.",
    "validation_freq": "Use eval_every=, the steps between evaluations.",
    "initial_epoch": "Leave it out: with output_dir a run goes on from its last checkpoint.",
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
