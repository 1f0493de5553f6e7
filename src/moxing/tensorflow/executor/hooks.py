"""SessionRunHooks that a model function may return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf


class AggregativeSessionRunHook(tf.train.SessionRunHook):
    """Base class of hooks in `mox.ModelSpec(hooks=[...])`.

    Beside the methods of `tf.train.SessionRunHook` a hook answers three questions.
    """

    def support_aggregation(self) -> bool:
        """Whether one hook stands for those of all devices of a process."""
        return False

    def support_sync_workers(self) -> bool:
        """Whether the hook acts at the same step on all workers."""
        return False

    def run_inter_mode(self) -> bool:
        """Whether the hook evaluates during training, which needs `mox.run(inter_mode=...)`."""
        return False


class FeedSessionRunHook(AggregativeSessionRunHook):
    """Feeds the same values every step.

    Args:
        feed_dict: values of placeholders, by tensor.
    """

    def __init__(self, feed_dict: Mapping[tf.Tensor, Any] | None) -> None:
        super().__init__()
        self.feed_dict = feed_dict

    def before_run(self, run_context: tf.train.SessionRunContext) -> Any:
        del run_context
        if not self.feed_dict:
            return None
        return tf.train.SessionRunArgs(fetches=None, feed_dict=dict(self.feed_dict))
