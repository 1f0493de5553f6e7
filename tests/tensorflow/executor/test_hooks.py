"""Hooks that model functions return: their base class, and the one that feeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox


def test_base_class_is_a_session_run_hook_that_asks_for_nothing() -> None:
    hook = mox.AggregativeSessionRunHook()
    assert isinstance(hook, tf.train.SessionRunHook)
    assert hook.support_aggregation() is False
    assert hook.support_sync_workers() is False
    assert hook.run_inter_mode() is False
    feeding = mox.FeedSessionRunHook({})
    assert isinstance(feeding, mox.AggregativeSessionRunHook)
    assert feeding.run_inter_mode() is False


def test_nothing_to_feed() -> None:
    assert mox.FeedSessionRunHook(None).before_run(None) is None
    assert mox.FeedSessionRunHook({}).before_run(None) is None


def test_feeds_reach_every_step(run: Callable[..., Any], model_with: Callable[..., Any]) -> None:
    seen: list[dict[str, Any]] = []

    def hooks(inputs: Any, loss: Any) -> list[Any]:
        keep = tf.get_default_graph().get_tensor_by_name("keep:0")
        rows = tf.get_default_graph().get_tensor_by_name("rows:0")
        return [
            mox.FeedSessionRunHook({keep: 0.5}),
            mox.FeedSessionRunHook({rows: [[1, 2], [3, 4]]}),
        ]

    def outputs(inputs: Any, loss: Any) -> dict[str, tf.Tensor]:
        keep = tf.placeholder_with_default(1.0, [], name="keep")
        rows = tf.placeholder(tf.float32, [None, 2], name="rows")
        return {"keep": keep * 2, "rows": rows}

    run(
        model_fn=model_with(output_info=outputs, hooks=hooks),
        output_fn=seen.extend,
        output_every_n_steps=1,
    )
    assert [values["keep"] for values in seen] == [1.0, 1.0, 1.0]
    np.testing.assert_array_equal(seen[2]["rows"], [[1, 2], [3, 4]])


def test_sparse_feed(run: Callable[..., Any]) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        sparse = tf.sparse.placeholder(tf.float32, [2, 2])
        total = tf.sparse.reduce_sum(sparse) * tf.get_variable(
            "w", [], initializer=tf.ones_initializer()
        )
        value = tf.SparseTensorValue([[0, 1]], np.array([4.0], np.float32), [2, 2])
        hook = mox.FeedSessionRunHook({sparse: value})
        return mox.ModelSpec(loss=total, log_info={"total": total}, hooks=[hook])

    assert run(model_fn=model_fn, max_number_of_steps=1).metrics == {"total": 4.0}


def test_feed_that_the_hook_changes(
    run: Callable[..., Any], model_with: Callable[..., Any]
) -> None:
    seen: list[float] = []

    class Counting(mox.FeedSessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.feed_dict = {key: value + 1 for key, value in self.feed_dict.items()}

    run(
        model_fn=model_with(
            output_info=lambda x, loss: {"n": tf.placeholder(tf.int32, [], name="n") + 0},
            hooks=lambda x, loss: [
                Counting({tf.get_default_graph().get_tensor_by_name("n:0"): 10})
            ],
        ),
        output_fn=lambda outputs: seen.extend(int(values["n"]) for values in outputs),
        output_every_n_steps=3,
    )
    assert seen == [10, 11, 12]
