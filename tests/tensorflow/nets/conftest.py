"""What tests of the model zoo share: graphs, builders, tf-slim's own nets and random weights."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

from moxing.tensorflow.nets import get_model_fn, get_model_meta


@pytest.fixture
def graph() -> Iterator[tf.Graph]:
    """A fresh default graph with a fixed seed."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        yield graph


@pytest.fixture(scope="session")
def without_initializers() -> Callable[[], contextlib.AbstractContextManager[tf.Graph]]:
    """A default graph without half of its operations: those that initialize variables."""

    def make(following: Callable[..., Any], **given: Any) -> Any:
        if given["shape"].rank == 0:  # The global step.
            return following(**given)
        needed = ("trainable", "name", "shape", "dtype")
        made = UninitializedVariable(**{key: given[key] for key in needed})
        # It adds itself to the global variables, and to no other collection.
        if given["trainable"]:
            tf.add_to_collection(tf.GraphKeys.TRAINABLE_VARIABLES, made)
        return made

    @contextlib.contextmanager
    def new_graph() -> Iterator[tf.Graph]:
        with tf.Graph().as_default() as graph, tf.variable_creator_scope(make):
            yield graph

    return new_graph


@pytest.fixture(scope="session")
def build() -> Callable[..., tuple[tf.Tensor, dict[str, tf.Tensor]]]:
    """Builds a network on a placeholder of its usual, or another, image size."""

    def build_network(
        name: str,
        run_mode: str,
        *,
        size: int | None = None,
        batch: int | None = 2,
        channels: int | None = None,
        dtype: tf.DType = tf.float32,
        num_classes: int = 1000,
        **options: Any,
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        size = size or get_model_meta(name).default_image_size
        channels = channels or (1 if name == "lenet" else 3)
        images = tf.placeholder(dtype, [batch, size, size, channels], name="images")
        if run_mode == "EXPORT":
            options = {"image_height": size, "image_width": size, **options}
        return get_model_fn(name, run_mode, num_classes, **options)(images)

    return build_network


@pytest.fixture(scope="session")
def float32_getter() -> Callable[..., Any]:
    """A custom getter that stores float32 and hands out the dtype asked for."""

    def getter(inner: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        del args
        dtype = kwargs.pop("dtype")
        stored = inner(name, dtype=tf.float32, **kwargs)
        return stored if dtype == tf.float32 else tf.cast(stored, dtype)

    def named(getter_: Any = None, *args: Any, **kwargs: Any) -> Any:
        # TensorFlow passes the inner getter by the name `getter`.
        inner = kwargs.pop("getter", getter_)
        return getter(inner, *args, **kwargs)

    return named


@pytest.fixture(scope="session")
def load_random() -> Callable[[tf.Session], None]:
    """Gives every variable of the session's graph a plausible value, the same for a name."""

    def load(session: tf.Session) -> None:
        assigns, feed = [], {}
        for variable in tf.global_variables():
            source = tf.placeholder(variable.dtype.base_dtype, variable.shape)
            feed[source] = _value(variable.op.name, variable.shape.as_list())
            assigns.append(variable.assign(source, read_value=False))
        session.run(assigns, feed)

    return load


def _value(name: str, shape: list[int]) -> np.ndarray:
    # The name of the network doesn't count, so that equal networks get equal values.
    chance = np.random.default_rng(sum(name.partition("/")[2].encode()))
    kind = name.rsplit("/", 1)[-1]
    if kind == "moving_variance":
        return chance.uniform(0.5, 1.5, shape).astype(np.float32)
    if kind == "gamma":
        return chance.uniform(0.8, 1.2, shape).astype(np.float32)
    if len(shape) == 1:
        return chance.normal(0.0, 0.1, shape).astype(np.float32)
    fan_in = np.prod(shape[:-1]) if kind != "depthwise_weights" else np.prod(shape[:2])
    values = chance.random(shape, np.float32)
    values -= np.float32(0.5)
    values *= np.float32(np.sqrt(12.0 / fan_in))
    return values


@pytest.fixture(scope="session")
def slim_nets() -> Callable[[str], Any]:
    """Imports a module of `tf_slim.nets`, with the Keras module it looks for put in place."""
    parts = ("base", "convolutional", "core", "normalization", "pooling")
    home, old = "tf_keras.src.legacy_tf_layers", "tf_keras.legacy_tf_layers"
    sys.modules.setdefault(old, importlib.import_module(home))
    for part in parts:
        sys.modules.setdefault(f"{old}.{part}", importlib.import_module(f"{home}.{part}"))
    return lambda module: importlib.import_module(f"tf_slim.nets.{module}")
