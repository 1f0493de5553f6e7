"""Threads for the exchanges of a session."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.client import session

from moxing.horovod import threads
from moxing.horovod.operations import name_of


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch) -> None:
    start: Any = session.BaseSession.__init__

    @functools.wraps(start)
    def wrapped(*given: Any, **named: Any) -> None:  # As `mox run` wraps it.
        start(*given, **named)

    monkeypatch.setattr(session.BaseSession, "__init__", wrapped)
    threads.give()
    threads.give()


def waiting(count: int) -> list[Any]:
    """Operations that end only if all of them run at once."""
    import threading

    meeting = threading.Barrier(count, timeout=60)

    def meet() -> Any:
        meeting.wait()
        return 1.0

    return [tf.numpy_function(meet, [], tf.float64) for _ in range(count)]


@pytest.mark.parametrize("config", [None, tf.ConfigProto(inter_op_parallelism_threads=2)])
def test_every_exchange_of_a_run_can_wait_at_once(config: Any) -> None:
    with tf.Graph().as_default():
        made = waiting(40)
        with tf.Session(config=config) as opened:
            assert opened.run(made) == [1.0] * 40


def test_a_session_that_is_made_before_the_graph_has_some_too() -> None:
    with tf.Graph().as_default(), tf.Session() as opened:
        assert opened.run(waiting(12)) == [1.0] * 12


def test_settings_of_the_program_stay() -> None:
    config = tf.ConfigProto(allow_soft_placement=True, intra_op_parallelism_threads=1)
    with tf.Graph().as_default(), tf.Session(config=config) as opened:
        kept = opened._config
    assert (kept.allow_soft_placement, kept.intra_op_parallelism_threads) == (True, 1)
    assert not config.session_inter_op_thread_pool


def test_each_exchange_of_a_graph_has_a_name_of_its_own() -> None:
    with tf.Graph().as_default():
        tensor = tf.zeros([2], name="loss")
        slices = tf.IndexedSlices(tensor, tf.constant([0, 1]))
        names = [name_of("allreduce", [one]) for one in (tensor, tensor, slices, 1.0)]
    assert names[0] == "horovod/allreduce/loss_0"
    assert len(set(names)) == 4
