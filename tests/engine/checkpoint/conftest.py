"""A small model that is saved and restored for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.saving.saver import Saver


@dataclass
class Model:
    """Variables in a session, and a Saver of them."""

    variables: dict[str, Any]
    saver: Saver
    session: tf.Session

    def save(self, step: int, value: float | None = None, extra: Any = None) -> Checkpoint:
        """Saves; with a `value`, which every variable gets before."""
        if value is not None:
            self.fill(value)
        return self.saver.save(self.session, step, extra)

    def save_copies(self, step: int, value: float) -> Checkpoint:
        """Gives every variable a value, copies, gives every variable 99, and saves the copies."""
        self.fill(value)
        commit = self.saver.copy(self.session, step, {})
        assert commit is not None
        self.fill(99.0)
        return commit()

    def fill(self, value: float) -> None:
        """Gives every variable a value."""
        for variable in self.variables.values():
            feed = {variable.initializer.inputs[1]: np.full(variable.shape, value, np.float32)}
            self.session.run(variable.initializer, feed)


Values = Mapping[str, Any]


@pytest.fixture
def make_model(tmp_path: Path) -> Iterator[Callable[..., Model]]:
    """Makes models that save into `tmp_path`, or into another directory."""
    with ExitStack() as stack:

        def make(
            values: Values | None = None,
            directory: Path = tmp_path,
            keep: int | None = 5,
            hours: float | None = None,
        ) -> Model:
            graph = stack.enter_context(tf.Graph().as_default())
            values = values or {"w": np.zeros((3, 4), np.float32), "b": np.zeros(4, np.float32)}
            variables = {
                name: tf.get_variable(name, initializer=value, use_resource=True)
                for name, value in values.items()
            }
            saver = Saver(directory, variables.values(), keep=keep, hours=hours)
            start = tf.global_variables_initializer()
            graph.finalize()
            session = stack.enter_context(tf.Session(graph=graph))
            session.run(start)
            return Model(variables, saver, session)

        yield make


@pytest.fixture
def foreign(tmp_path: Path) -> Callable[..., str]:
    """Saves values with TensorFlow's own Saver, and returns the prefix."""

    def save(
        values: Values,
        name: str = "model.ckpt",
        step: int | None = None,
        directory: Path = tmp_path,
    ) -> str:
        with tf.Graph().as_default(), tf.Session() as session:
            saver = tf.train.Saver([tf.get_variable(n, initializer=v) for n, v in values.items()])
            session.run(tf.global_variables_initializer())
            return saver.save(session, str(directory / name), global_step=step)

    return save


def value_of(prefix: str, name: str = "b") -> float:
    """The first element of a variable in a checkpoint, read by TensorFlow."""
    return float(np.ravel(tf.train.load_checkpoint(prefix).get_tensor(name))[0])


@pytest.fixture
def read_value() -> Callable[..., float]:
    """`value_of`, as a fixture: test modules can't import this one."""
    return value_of


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What is logged from INFO on, under the logger that users grep for."""
    with caplog.at_level("INFO", logger="tensorflow"):
        yield caplog
