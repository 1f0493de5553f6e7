"""SessionRunHooks that a model function may return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.graph.structure import describe_tensor
from moxing.errors import MoxTypeError, MoxValueError, shown


class AggregativeSessionRunHook(tf.train.SessionRunHook):
    """Base class of hooks in `mox.ModelSpec(hooks=[...])`.

    In addition to the methods of `tf.train.SessionRunHook`, a hook has three methods that describe
    it.
    """

    def support_aggregation(self) -> bool:
        """Whether one hook replaces the hooks of all devices in a process."""
        return False

    def support_sync_workers(self) -> bool:
        """Whether the hook acts at the same step on all workers."""
        return False

    def run_inter_mode(self) -> bool:
        """Whether the hook evaluates during training, which needs `mox.run(inter_mode=...)`."""
        return False


class FeedSessionRunHook(AggregativeSessionRunHook):
    """A hook that feeds the same values at every step.

    Args:
        feed_dict: values of placeholders, by tensor; None or empty: nothing is fed.

    Raises:
        MoxTypeError: a key that can't be fed, or a value of another type than its tensor's.
        MoxValueError: a value of another shape than its tensor's, or a tensor of another graph.
    """

    def __init__(self, feed_dict: Mapping[tf.Tensor, Any] | None) -> None:
        super().__init__()
        if feed_dict is not None and not isinstance(feed_dict, Mapping):
            raise MoxTypeError(
                f"FeedSessionRunHook: feed_dict is {shown(feed_dict)}; give a dict of values by"
                " tensor."
            )
        for tensor, value in (feed_dict or {}).items():
            _check_feed(tensor, value)
        self.feed_dict = feed_dict

    def before_run(self, run_context: tf.train.SessionRunContext) -> Any:
        del run_context
        if not self.feed_dict:
            return None
        return tf.train.SessionRunArgs(fetches=None, feed_dict=dict(self.feed_dict))


def _check_feed(tensor: Any, value: Any) -> None:
    if isinstance(tensor, tf.SparseTensor):
        return
    if not isinstance(tensor, tf.Tensor):
        raise MoxTypeError(
            f"FeedSessionRunHook: feed_dict has the key {shown(tensor)}; keys are tensors that"
            " model_fn made, such as tf.placeholder(...)."
        )
    graph = tf.get_default_graph()
    if getattr(tensor, "graph", None) is not graph or not graph.is_feedable(tensor):
        raise MoxValueError(
            f"FeedSessionRunHook: {shown(tensor)} can't be fed. Feed a tensor that this call of"
            " model_fn made."
        )
    if value is None or isinstance(value, tf.Tensor):
        raise MoxTypeError(
            f"FeedSessionRunHook: {tensor.name} is fed {shown(value)}, which is no value: give a"
            " number, a list or an array."
        )
    try:
        shape = np.asarray(value, tensor.dtype.base_dtype.as_numpy_dtype).shape
    except (TypeError, ValueError, OverflowError) as error:
        raise MoxTypeError(
            f"FeedSessionRunHook: {tensor.name} is {describe_tensor(tensor)}, and is fed"
            f" {shown(value)} ({error})."
        ) from error
    if not tensor.shape.is_compatible_with(shape):
        raise MoxValueError(
            f"FeedSessionRunHook: {tensor.name} is {describe_tensor(tensor)}, and is fed a value of"
            f" shape {list(shape)}."
        )
