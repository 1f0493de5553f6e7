"""Sessions on a machine without a GPU, and fetches that were lists in Python 2."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.client import session as sessions

from moxing.engine.graph import devices
from moxing.legacy.sessions import lenient


@pytest.fixture(autouse=True)
def lenient_sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    expansions = list(sessions._REGISTERED_EXPANSIONS)
    monkeypatch.setattr(sessions.BaseSession, "__init__", sessions.BaseSession.__init__)
    lenient.install()
    yield
    sessions._REGISTERED_EXPANSIONS[:] = expansions


@pytest.mark.skipif("devices.has_gpu()")
@pytest.mark.parametrize("config", [None, tf.ConfigProto(log_device_placement=False)])
def test_a_gpu_that_is_not_there_is_the_cpu(config: tf.ConfigProto | None) -> None:
    assert not devices.has_gpu()
    with tf.Graph().as_default():
        with tf.device("/gpu:0"):
            product = tf.matmul([[2.0]], [[3.0]])
        with tf.Session(config=config) as session:
            assert session.run(product) == 6
        assert config is None or not config.allow_soft_placement


def test_views_and_iterators_are_fetched_as_lists() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        named = {"a": tf.constant(1), "b": tf.constant(2)}
        assert session.run(named.values()) == [1, 2]
        assert session.run(map(tf.negative, named.values())) == [-1, -2]
        assert session.run(filter(lambda tensor: tensor is named["b"], [*named.values()])) == [2]
        assert session.run([named, named.values()]) == [{"a": 1, "b": 2}, [1, 2]]
