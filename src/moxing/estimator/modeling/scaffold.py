"""Applies a Scaffold with hooks, because a run opens its session itself."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError


def hooks_of_scaffold(
    scaffold: tf.train.Scaffold | None, training: bool, checkpoint: str | None
) -> tuple[tf.train.SessionRunHook, ...]:
    """Returns hooks that do the work of a Scaffold.

    Args:
        scaffold: the scaffold of an EstimatorSpec, or None.
        training: whether the run is a training, which saves checkpoints.
        checkpoint: the prefix of the checkpoint that an evaluation or prediction restores.

    Raises:
        MoxNotSupportedError: the saver of a training leaves variables out.
    """
    if scaffold is None:
        return ()
    saver = scaffold.saver
    if training and saver is not None and _is_partial(saver):
        raise MoxNotSupportedError(
            "EstimatorSpec's scaffold has a saver of some of the variables, in TRAIN: openmox saves"
            " all of them, so that a run can be resumed. Leave the saver out; to start from other"
            " weights, use tf.train.init_from_checkpoint."
        )
    return (_Start(scaffold, None if training else saver, checkpoint),)


def _is_partial(saver: Any) -> bool:
    chosen = getattr(saver, "_var_list", None)
    return chosen is not None and len(chosen) < len(tf.global_variables())


class _Start(tf.train.SessionRunHook):
    """After the session is created, runs local_init_op, and the saver's restore or init_fn."""

    def __init__(self, scaffold: Any, saver: Any, checkpoint: str | None) -> None:
        self._scaffold, self._saver, self._checkpoint = scaffold, saver, checkpoint

    def begin(self) -> None:
        if self._saver is not None:
            self._saver.build()
        self._step = tf.train.get_global_step()

    def after_create_session(self, session: tf.Session, coord: Any) -> None:
        del coord
        scaffold = self._scaffold
        local = scaffold.local_init_op
        if local is not None:
            session.run(local, feed_dict=scaffold.local_init_feed_dict)
        if self._saver is not None and self._checkpoint is not None:
            self._saver.restore(session, self._checkpoint)
        elif scaffold.init_fn is not None and int(session.run(self._step)) == 0:
            scaffold.init_fn(session)
