"""What jobs are called with belongs to the call: arrays may be filled anew while it waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import moxing.flow as flow
from moxing.flow.runtime.step_queue import DEPTH


def _held() -> tuple[threading.Event, Callable[[Any], None]]:
    """An event, and a watcher that keeps steps from ending until it is set."""
    event = threading.Event()

    def wait(_: Any) -> None:
        assert event.wait(240)

    return event, wait


def test_calls_that_wait_keep_the_arrays_that_they_were_given() -> None:
    go, wait = _held()

    @flow.function
    def job(x: Any = flow.FixedTensorDef((2,))) -> Any:  # noqa: B008
        flow.watch(x, wait)
        return x * 2.0

    buffer, handles = np.zeros(2, np.float32), []
    for number in range(5):
        buffer[:] = number, -number
        handles.append(job(buffer))
    buffer[:] = 99
    go.set()

    assert [handle.get().tolist() for handle in handles] == [[2.0 * n, -2.0 * n] for n in range(5)]


def test_training_on_one_buffer_sees_each_of_its_fillings() -> None:
    @flow.function
    def train(x: Any = flow.FixedTensorDef((2,))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(1.0)
        flow.config.train.model_update_conf({"naive_conf": {}})
        w = flow.get_variable("w", (2,), initializer=flow.zeros_initializer())
        flow.losses.add_loss(x * w)
        return w

    flow.train.CheckPoint().init()
    buffer = np.zeros(2, np.float32)
    for number in range(1, 6):
        buffer[:] = number
        train(buffer).async_get(lambda _: None)
    buffer[:] = 0

    # Each step takes half of its number: the loss is the mean of two elements.
    assert train(buffer).get().tolist() == [-7.5, -7.5]


def test_arrays_of_mirrored_inputs_are_the_calls_own_too(devices: Callable[[int], None]) -> None:
    devices(2)
    go, wait = _held()

    @flow.function
    def job(x: Any = flow.MirroredTensorDef((3,))) -> Any:  # noqa: B008
        flow.watch(x, wait)
        return x

    buffers = [np.zeros(2, np.float32), np.zeros(3, np.float32)]
    handles = []
    for number in range(3):
        for buffer in buffers:
            buffer[:] = number
        handles.append(job(buffers))
        buffers[0][:] = 99
    go.set()

    found = [[array.tolist() for array in handle.get().ndarray_list()] for handle in handles]
    assert found == [[[n, n], [n, n, n]] for n in range(3)]


def test_arrays_of_any_layout_are_read_in_their_logical_order() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((3, 2))) -> Any:  # noqa: B008
        return x

    values = np.arange(6, dtype=np.float32).reshape(2, 3)

    assert job(values.T).get().tolist() == values.T.tolist()
    assert job(np.asfortranarray(values.T)).get().tolist() == values.T.tolist()


def test_a_caller_waits_where_as_many_steps_wait_as_may() -> None:
    go, wait = _held()
    called: list[int] = []

    @flow.function
    def job(x: Any = flow.FixedTensorDef((1,))) -> Any:  # noqa: B008
        flow.watch(x, wait)
        return x

    def call_all() -> None:
        for number in range(2 * DEPTH):
            job(np.array([number], np.float32))
            called.append(number)

    job(np.zeros(1, np.float32))  # In this thread, so that the session starts in it.
    caller = threading.Thread(target=call_all)
    caller.start()
    until = time.monotonic() + 240
    while len(called) < DEPTH - 1 and time.monotonic() < until:
        time.sleep(0.01)
    caller.join(0.5)  # It would be through with all of them, if the queue took them.
    # One step runs already, so the queue is full behind as many calls, or one less.
    assert len(called) in (DEPTH - 1, DEPTH)
    go.set()
    caller.join(60)
    assert len(called) == 2 * DEPTH
