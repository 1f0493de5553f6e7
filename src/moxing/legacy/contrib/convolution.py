"""`conv2d` of `tf.contrib.layers` and slim: until TensorFlow 1.11 it took inputs of any rank."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow.compat.v1 as tf
from tf_slim.layers import layers
from tf_slim.ops import arg_scope


# This copies the key by which arg_scope knows the function, so that either name sets its defaults.
@functools.wraps(layers.convolution2d)
def convolution2d(*args: Any, **kwargs: Any) -> Any:
    inputs = args[0] if args else kwargs.get("inputs")
    if inputs is None or tf.convert_to_tensor(inputs).shape.ndims not in (3, 5):
        return layers.convolution2d(*args, **kwargs)
    scoped = arg_scope.current_arg_scope().get(arg_scope.arg_scope_func_key(convolution2d), {})
    return layers.convolution(*args, **{**scoped, **kwargs})
