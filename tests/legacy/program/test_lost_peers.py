"""The loss of a process, as the errors of a program tell it."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.cluster.failure import PeerFailureError
from moxing.legacy.program import lost_peers

LOST = "worker 0 (h:1) died: connection lost. Start all processes again."


def in_a_graph(raised: Exception) -> Exception:
    """The error of a session whose graph calls Python code that raises."""

    def call(array: np.ndarray) -> np.ndarray:
        raise raised

    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(tf.float32, [])
        merged = tf.numpy_function(call, [given], tf.float32)
        with pytest.raises(tf.errors.OpError) as caught:
            session.run(merged + 1.0, {given: 2.0})
    return caught.value


def in_a_function(raised: Exception) -> Exception:
    """The error of a function of TensorFlow 2 that calls such code."""

    def call(array: np.ndarray) -> np.ndarray:
        raise raised

    with tf.Graph().as_default(), tf.Session() as session:
        merged = tf.function(lambda x: tf.numpy_function(call, [x], tf.float32))(tf.constant(1.0))
        with pytest.raises(tf.errors.OpError) as caught:
            session.run(merged)
    return caught.value


@pytest.mark.parametrize("error_of", [in_a_graph, in_a_function])
def test_a_loss_that_code_in_a_graph_found(error_of: Callable[[Exception], Exception]) -> None:
    error = error_of(PeerFailureError(LOST))
    assert not isinstance(error, PeerFailureError)

    told = lost_peers.told(error)

    assert isinstance(told, PeerFailureError)
    assert (str(told), told.exit_code, told.__cause__) == (LOST, 143, error)


def test_another_error_of_such_code_stays() -> None:
    error = in_a_graph(ValueError("no PeerFailureError: a number"))
    assert re.search("a number", str(error))
    assert lost_peers.told(error) is error
