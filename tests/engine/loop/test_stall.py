"""A step that waits says so, and where its input is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import execute, generated, messages  # noqa: E402

LIMIT = 60.0


@pytest.fixture
def until_said(log: Any) -> Callable[[], bool]:
    """Waits until a stall has been said with the place of Python code; whether it has."""

    def wait() -> bool:
        until = time.monotonic() + LIMIT
        while not shown(log):
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True

    return wait


def shown(log: Any) -> list[str]:
    """The lines of each stall that has a place; on a busy machine the first step has none."""
    return [line for line in messages(log) if "has not ended" in line and "is at\n" in line]


def said(log: Any) -> list[str]:
    return shown(log)[0].splitlines()


def test_a_generator_that_waits_is_shown_at_its_line(log: Any, until_said: Any) -> None:
    def generator() -> Iterator[float]:
        yield from (1.0, 2.0, 3.0)
        until_said()  # The wait.
        yield from [4.0] * 10

    assert execute(input_fn=generated(generator), max_steps=6, stall_timeout=0.2).steps == 6
    first, place = said(log)
    assert first.startswith("Step ")
    assert first.endswith("Python code of input_fn is at")
    # Its innermost line of the user's is in the fixture, which it calls.
    assert place.startswith(f"  {__file__}:")
    assert ", in wait: " in place


def test_the_input_has_the_name_that_the_called_face_gives_it(log: Any, until_said: Any) -> None:
    """The line is worded in a thread beside the loop."""

    def generator() -> Iterator[float]:
        yield from (1.0, 2.0, 3.0)
        until_said()
        yield from [4.0] * 10

    job = dict(input_fn=generated(generator), max_steps=6, stall_timeout=0.2)
    assert execute(**job, names={"input_fn": "train_data"}).steps == 6
    assert said(log)[0].endswith("Python code of train_data is at")


def test_a_py_func_of_a_queue_is_shown_too(log: Any, until_said: Any) -> None:
    taken = []

    def take() -> np.float32:
        taken.append(1)
        if len(taken) > 4:
            until_said()
        return np.float32(1)

    def input_fn(mode: str) -> Any:
        number = tf.py_func(take, [], tf.float32)
        number.set_shape([])
        return tf.train.batch([number], 1, capacity=2)

    assert execute(input_fn=input_fn, max_steps=8, stall_timeout=0.2).steps == 8
    assert ", in wait: " in said(log)[1]


def test_steps_that_go_on_are_not_said(log: Any) -> None:
    def generator() -> Iterator[float]:
        for number in range(30):
            time.sleep(0.01)
            yield float(number)

    execute(input_fn=generated(generator), max_steps=30)
    assert not any("has not ended" in line for line in messages(log))
