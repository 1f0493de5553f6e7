"""Streaming metrics are known by the variables that they accumulate in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.model import streaming_metrics
from moxing.errors import MoxValueError


@pytest.fixture(params=[True, False], ids=["resource", "reference"])
def graph(request: pytest.FixtureRequest) -> Iterator[None]:
    """A graph whose variables are of either kind."""
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=request.param):
        yield


@pytest.fixture
def log(graph: None) -> dict[str, tf.Tensor]:
    data = tf.data.Dataset.range(10).map(lambda n: tf.cast(n, tf.float32))
    number = tf.data.make_one_shot_iterator(data).get_next()
    weights = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    value, update = tf.metrics.mean(number)
    return {
        "value": value,
        "percent": 100 * value,
        "update": update,
        "plain": number + weights,
        "weights": tf.identity(weights),
    }


def test_what_comes_out_of_a_metric(log: dict[str, tf.Tensor]) -> None:
    assert streaming_metrics.names(log) == {"value", "percent", "update"}


def test_what_can_be_read_again(log: dict[str, tf.Tensor]) -> None:
    assert set(streaming_metrics.readable(log)) == {"value", "percent", "weights"}


def test_nothing_streams_in_a_graph_without_metrics(graph: None) -> None:
    log = {"x": tf.identity(tf.get_variable("w", []))}
    assert streaming_metrics.names(log) == frozenset()
    streaming_metrics.check(log, log.values())


def test_a_metric_that_is_never_updated_is_named(log: dict[str, tf.Tensor]) -> None:
    streaming_metrics.check(log, [log["value"], log["update"]])
    with pytest.raises(MoxValueError) as caught:
        streaming_metrics.check(log, [log["value"], log["plain"]])
    assert str(caught.value) == (
        f"log_info['value'] is the value of a streaming metric ({log['value'].name}) that no step"
        " updates, so it would never change. Give the metric's second result, the update:"
        " tf.metrics.accuracy(...)[1]."
    )
