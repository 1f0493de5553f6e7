"""Hooks that go wrong are named with the method, and what they feed is checked when it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

pytestmark = pytest.mark.timeout(240)

Args = tf.train.SessionRunArgs


def elsewhere() -> tf.Tensor:
    with tf.Graph().as_default():
        return tf.constant(1.0)


def hook_with(method: str, function: Callable[..., Any], name: str = "Mine") -> Any:
    """An instance of a hook class of that name whose one method is `function`."""
    kind = type(
        name, (mox.AggregativeSessionRunHook,), {method: lambda self, *rest: function(*rest)}
    )
    return kind()


def fails(*arguments: Any) -> None:
    raise KeyError("inside the hook")


def needs_more(first: Any, second: Any, third: Any) -> None:
    raise AssertionError("never called")


METHODS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "begin": ("begin", fails, "raised while calling the hook Mine's <lambda> (test_hooks.py:"),
    "begin wants more": ("begin", needs_more, "raised while calling the hook Mine's"),
    "session fails": ("after_create_session", fails, "raised while calling the hook Mine's"),
    "session builds": (
        "after_create_session",
        lambda session, coordinator: tf.constant(1),
        "Mine.after_create_session() builds operations, but the graph is final once training runs."
        " Build them in Mine.begin().",
    ),
    "before fails": ("before_run", fails, "raised while calling the hook Mine's"),
    "before builds": (
        "before_run",
        lambda context: Args(tf.constant(1)),
        "Mine.before_run() builds operations, but the graph is final",
    ),
    "before gives a number": (
        "before_run",
        lambda context: 1,
        "Mine.before_run() returned 1; it must return tf.train.SessionRunArgs(...) or None.",
    ),
    "before gives a dict": ("before_run", lambda context: {}, "Mine.before_run() returned {}; it"),
    "before gives a list": ("before_run", lambda context: [], "Mine.before_run() returned []; it"),
    "before gives a class": (
        "before_run",
        lambda context: Args,
        "Mine.before_run() returned the class SessionRunArgs; it must return",
    ),
    "fetches an unknown name": (
        "before_run",
        lambda context: Args("nothing:0"),
        "raised by the fetches or feeds of this run's hooks (Mine).",
    ),
    "fetches another graph's": (
        "before_run",
        lambda context: Args(elsewhere()),
        "raised by the fetches or feeds of this run's hooks (Mine).",
    ),
    "fetches None": (
        "before_run",
        lambda context: Args([None]),
        "fetches or feeds of this run's hooks (Mine).",
    ),
    "fetches a number": (
        "before_run",
        lambda context: Args(1.5),
        "fetches or feeds of this run's hooks (Mine).",
    ),
    "feeds a list": (
        "before_run",
        lambda context: Args(None, [1]),
        "Mine.before_run() returned the feed_dict [1]; it must be a dict of values by tensor.",
    ),
    "feeds a name": (
        "before_run",
        lambda context: Args(None, {"x": 1}),
        "fetches or feeds of this run's hooks (Mine).",
    ),
    "feeds another graph's": (
        "before_run",
        lambda context: Args(None, {elsewhere(): 1.0}),
        "fetches or feeds of this run's hooks (Mine).",
    ),
    "after fails": ("after_run", fails, "raised while calling the hook Mine's"),
    "after builds": (
        "after_run",
        lambda context, values: tf.constant(1),
        "Mine.after_run() builds operations, but the graph is final",
    ),
    "end fails": ("end", fails, "raised while calling the hook Mine's"),
    "end builds": ("end", lambda session: tf.constant(1), "Mine.end() builds operations"),
    "evaluates": (
        "run_inter_mode",
        lambda: True,
        "the hook Mine evaluates during training (run_inter_mode() is True), which needs"
        " mox.run(..., inter_mode=mox.ModeKeys.EVAL).",
    ),
    "fails to say whether it evaluates": ("run_inter_mode", fails, "raised while calling model_fn"),
}


@pytest.mark.parametrize("case", METHODS)
def test_method(
    case: str, refused: Callable[..., None], run: Callable[..., Any], model_with: Callable[..., Any]
) -> None:
    method, function, told = METHODS[case]
    model_fn = model_with(hooks=lambda x, loss: [hook_with(method, function)])
    refused(lambda: run(model_fn=model_fn, log_dir="out"), told)


def holder(dtype: Any = tf.float32, shape: Any = (), name: str = "fed") -> tf.Tensor:
    return tf.placeholder(dtype, shape, name=name)


FEEDS: dict[str, tuple[Callable[[], Any], str]] = {
    "text": (lambda: "x", "FeedSessionRunHook: feed_dict is 'x'; give a dict of values by tensor."),
    "list": (lambda: [1], "FeedSessionRunHook: feed_dict is [1]; give a dict"),
    "False": (lambda: False, "FeedSessionRunHook: feed_dict is False; give a dict"),
    "name": (
        lambda: {"fed:0": 1.0},
        "feed_dict has the key 'fed:0'; keys are tensors that model_fn",
    ),
    "number": (lambda: {1: 2.0}, "feed_dict has the key 1; keys are tensors"),
    "None": (lambda: {None: 2.0}, "feed_dict has the key None; keys are tensors"),
    "operation": (
        lambda: {tf.no_op(): 1},
        "FeedSessionRunHook: feed_dict has the key <tf.Operation",
    ),
    "another graph's": (
        lambda: {elsewhere(): 1.0},
        "can't be fed. Feed a tensor that this call of",
    ),
    "None value": (lambda: {holder(): None}, "fed:0 is fed None, which is no value: give a number"),
    "tensor value": (lambda: {holder(): tf.constant(1.0)}, "fed:0 is fed <tf.Tensor"),
    "text value": (
        lambda: {holder(): "x"},
        "fed:0 is float32 [], and is fed 'x' (could not convert",
    ),
    "object value": (
        lambda: {holder(): object()},
        "fed:0 is float32 [], and is fed <object object",
    ),
    "dict value": (lambda: {holder(): {}}, "fed:0 is float32 [], and is fed {} ("),
    "rows of two lengths": (
        lambda: {holder(shape=[2, 2]): [[1, 2], [3]]},
        "fed:0 is float32 [2, 2], and is fed [[1, 2], [3]] (",
    ),
    "shape": (
        lambda: {holder(shape=[2]): [1, 2, 3]},
        "FeedSessionRunHook: fed:0 is float32 [2], and is fed a value of shape [3].",
    ),
    "rank": (
        lambda: {holder(shape=[None]): 1.0},
        "fed:0 is float32 [?], and is fed a value of shape [].",
    ),
    "too large": (
        lambda: {holder(tf.uint8): 10**30},
        "fed:0 is uint8 [], and is fed 1000000000000",
    ),
}


@pytest.mark.parametrize("case", FEEDS)
def test_feed(
    case: str, refused: Callable[..., None], run: Callable[..., Any], model_with: Callable[..., Any]
) -> None:
    feeds, told = FEEDS[case]
    model_fn = model_with(hooks=lambda x, loss: [mox.FeedSessionRunHook(feeds())])
    refused(lambda: run(model_fn=model_fn, log_dir="out"), told)


def test_two_hooks_feed_one_tensor(
    refused: Callable[..., None], run: Callable[..., Any], model_with: Callable[..., Any]
) -> None:
    def hooks(inputs: Any, loss: Any) -> list[Any]:
        fed = holder()
        return [mox.FeedSessionRunHook({fed: 1.0}), mox.FeedSessionRunHook({fed: 2.0})]

    refused(
        lambda: run(model_fn=model_with(hooks=hooks), log_dir="out"),
        'FeedSessionRunHook feeds Tensor("fed:0"',
        "which another hook feeds too. Let one hook feed a tensor.",
    )


def test_feed_that_changes_to_a_wrong_shape(
    refused: Callable[..., None], run: Callable[..., Any], model_with: Callable[..., Any]
) -> None:
    class Growing(mox.FeedSessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.feed_dict = {key: np.append(value, 0) for key, value in self.feed_dict.items()}

    model_fn = model_with(hooks=lambda x, loss: [Growing({holder(shape=[2]): [1.0, 2.0]})])
    refused(
        lambda: run(model_fn=model_fn, log_dir="out"),
        "raised by the fetches or feeds of this run's hooks (Growing).",
    )
