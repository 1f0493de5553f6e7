"""Tells whether a model without a checkpoint gets its weights from another place."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry
from moxing.errors import CheckpointError
from moxing.logs import TENSORFLOW


def check(scaffold: tf.train.Scaffold | None, model_dir: str) -> None:
    """Lets a model that was just built run from its initial values, where it reads weights itself.

    Programs that only compute with a published model do so: `tf.train.init_from_checkpoint` in
    model_fn, or an init_fn of its scaffold, and no training.

    Args:
        scaffold: of the model's EstimatorSpec.
        model_dir: of the Estimator, which has no checkpoint.

    Raises:
        CheckpointError: the model would run with random weights.
    """
    given: Any = scaffold is not None and scaffold.init_fn
    initializers = [v.initializer for v in tf.global_variables() if v.initializer is not None]
    reads = any(op.type in _READS for op in ancestry.behind(initializers))
    if not given and not reads:
        raise missing(model_dir)
    TENSORFLOW.info(
        "No checkpoint in model_dir %s: the model starts from the weights that model_fn reads.",
        model_dir,
    )


_READS = ("RestoreV2", "RestoreSlice", "Restore")


def missing(model_dir: str) -> CheckpointError:
    """The error for a model_dir without a checkpoint."""
    return CheckpointError(
        f"Could not find a trained model in model_dir {model_dir!r}: it has no checkpoint. Train"
        " first, or pass checkpoint_path."
    )
