"""Random operations that draw the numbers of TensorFlow 1.15, for a seed of the graph alone.

After `tf.set_random_seed`, an operation without a seed of its own was seeded with the number of
operations that its graph had; TensorFlow 2 counts the random operations. Results that a program of
TensorFlow 1.x was published with come back only by the old count, so uniform numbers and dropout
are built of the operations, and with the names, that TensorFlow 1.15 built them of.

Only graphs that the program runs itself are built so: those without resource variables.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np


def install() -> None:
    """From now on, random operations are built and seeded as in TensorFlow 1.15."""
    for places, name, make in _changes():
        original: Any = getattr(places[0], name)
        if hasattr(original, "as_in_1_15"):
            continue
        changed = functools.wraps(original)(make(original))
        changed.as_in_1_15 = True
        for place in places:
            setattr(place, name, changed)


def uninstall() -> None:
    """Undoes `install`."""
    for places, name, _ in _changes():
        function: Any = getattr(places[0], name)
        if hasattr(function, "as_in_1_15"):
            for place in places:
                setattr(place, name, function.__wrapped__)


def _changes() -> list[tuple[tuple[Any, ...], str, Callable[[Any], Any]]]:
    """Returns, for each function, the places that hold it, its name, and what makes it anew."""
    import tensorflow.compat.v1 as tf
    import tensorflow.compat.v2 as tf2
    from tensorflow.python.framework import random_seed
    from tensorflow.python.ops import array_ops, nn_ops, random_ops, tensor_array_ops

    return [
        ((random_seed,), "get_seed", _seed),
        ((random_ops, tf), "random_uniform", _uniform),
        ((tf.random,), "uniform", _uniform),
        ((nn_ops,), "_dropout", _dropout),
        ((array_ops, tf, tf2), "split", _counting(_number_of_parts)),
        ((nn_ops,), "convolution_internal", _counting(_dilation)),
        ((tensor_array_ops._GraphTensorArray,), "size", _length),
    ]


def _is_the_programs_own() -> bool:
    import tensorflow.compat.v1 as tf

    return not tf.executing_eagerly() and not tf.resource_variables_enabled()


def _seed(original: Any) -> Any:
    import tensorflow.compat.v1 as tf

    def get_seed(op_seed: Any) -> Any:
        graph = tf.get_default_graph()
        if op_seed is None and graph.seed is not None and _is_the_programs_own():
            return original(graph.version)
        return original(op_seed)

    return get_seed


def _uniform(original: Any) -> Any:
    import tensorflow.compat.v1 as tf
    from tensorflow.python.framework import random_seed
    from tensorflow.python.ops import gen_random_ops, shape_util

    def random_uniform(
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = tf.float32,
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        if tf.as_dtype(dtype).is_floating and _is_the_programs_own():
            # As tensors, the default bounds are operations too, and scale and move the numbers.
            with tf.name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
                sizes = shape_util.shape_tensor(shape)
                low = tf.convert_to_tensor(minval, dtype=dtype, name="min")
                high = tf.convert_to_tensor(1 if maxval is None else maxval, dtype, name="max")
                both: Any = random_seed.get_seed(seed)
                raw = gen_random_ops.random_uniform(sizes, dtype, seed=both[0], seed2=both[1])
                result = tf.add(raw * (high - low), low, name=scope)
                shape_util.maybe_set_static_shape(result, sizes)
                return result
        return original(shape, minval, maxval, dtype, seed, name)

    return random_uniform


def _dropout(original: Any) -> Any:
    import tensorflow.compat.v1 as tf
    from tensorflow.python.ops import nn_ops

    def dropout(
        x: Any,
        rate: Any,
        noise_shape: Any,
        uniform_sampler: Any,
        dummy_rng_step: Any,
        name: str | None,
        default_name: str,
    ) -> Any:
        if not _is_the_programs_own() or _is_refused_or_idle(x, rate):
            return original(
                x, rate, noise_shape, uniform_sampler, dummy_rng_step, name, default_name
            )
        with tf.name_scope(name, default_name, [x]):
            x = tf.convert_to_tensor(x, name="x")
            rate = tf.convert_to_tensor(rate, dtype=x.dtype, name="rate")
            rate.get_shape().assert_has_rank(0)
            if tf.get_static_value(rate) == 0:
                return x
            sizes = nn_ops._get_noise_shape(x, noise_shape)
            numbers_of_places = uniform_sampler(shape=sizes, dtype=x.dtype)
            scale = 1 / (1 - rate)
            kept = numbers_of_places >= rate
            result = x * scale * tf.cast(kept, x.dtype)
            result.set_shape(x.get_shape())
            return result

    return dropout


def _counting(add: Callable[..., None]) -> Callable[[Any], Any]:
    """Has a function first add the operation that TensorFlow 1.15 added and did not need.

    Args:
        add: adds that operation for the function's arguments.
    """

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def function(*given: Any, **named: Any) -> Any:
            if _is_the_programs_own():
                add(*given, **named)
            return original(*given, **named)

        return function

    return make


def _number_of_parts(
    value: Any = None, num_or_size_splits: Any = None, *_: Any, **named: Any
) -> None:
    import tensorflow.compat.v1 as tf

    if isinstance(num_or_size_splits, numbers.Integral):
        tf.convert_to_tensor(int(num_or_size_splits))


def _dilation(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: Any = None,
    dilations: Any = None,
    *_: Any,
    **named: Any,
) -> None:
    import tensorflow.compat.v1 as tf

    if isinstance(dilations, (list, tuple)):
        tf.constant(dilations, tf.int32, name="dilation_rate")


def _length(original: Any) -> Any:
    import tensorflow.compat.v1 as tf

    def size(array: Any, name: str | None = None) -> Any:
        length = original(array, name)
        if _is_the_programs_own() and length.op.type != "TensorArraySizeV3":
            tf.raw_ops.TensorArraySizeV3(handle=array.handle, flow_in=array.flow, name=name)
        return length

    return size


def _is_refused_or_idle(x: Any, rate: Any) -> bool:
    """Whether TensorFlow 2 has an error for the arguments, or gives back `x` alone."""
    import tensorflow.compat.v1 as tf

    if isinstance(rate, numbers.Real) and not 0 < float(rate) < 1:
        return True
    kind = x.dtype if tf.is_tensor(x) else np.asarray(x).dtype
    return not tf.as_dtype(kind).is_floating
