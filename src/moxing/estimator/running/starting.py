"""Checks whether a model without a checkpoint reads its weights from elsewhere."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry
from moxing.errors import CheckpointError
from moxing.logs import TENSORFLOW


def check(scaffold: tf.train.Scaffold | None, model_dir: str) -> None:
    """Raises an error if the current graph's model would run with random weights.

    Programs that only run a published model read its weights without training: with
    `tf.train.init_from_checkpoint` in model_fn, or with an init_fn of the scaffold.

    Args:
        scaffold: the scaffold of the model's EstimatorSpec.
        model_dir: the Estimator's model_dir, which has no checkpoint.

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
    """Returns the error for a model_dir without a checkpoint."""
    return CheckpointError(
        f"Could not find a trained model in model_dir {model_dir!r}: it has no checkpoint. Train"
        " first, or pass checkpoint_path."
    )
