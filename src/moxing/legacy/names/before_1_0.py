"""Functions of TensorFlow 0.5 to 0.12 that 1.0 renamed, or whose arguments it put in another order.

A call in the old order is told from one in the new order by the types of its arguments; where both
fit, it means what it meant from 1.0 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

_SUMMARIES = tf.GraphKeys.SUMMARIES


def concat(*args: Any, **kwargs: Any) -> Any:
    """`tf.concat(values, axis, name)`, or `tf.concat(concat_dim, values, name)` as before 1.0."""
    kwargs = _renamed(kwargs, concat_dim="axis")
    if len(args) >= 2 and _is_number(args[0]) and not _is_number(args[1]):
        args = (args[1], args[0], *args[2:])
    elif len(args) == 1 and _is_number(args[0]) and "values" in kwargs:
        kwargs["axis"], args = args[0], ()
    return tf.concat(*args, **kwargs)


def split(*args: Any, **kwargs: Any) -> Any:
    """`tf.split(value, num_or_size_splits, axis)`, or `(split_dim, num_split, value)` as before."""
    kwargs = _renamed(kwargs, split_dim="axis", num_split="num_or_size_splits")
    if args and _is_number(args[0]):
        order = ("axis", "num_or_size_splits", "value", "name")
        kwargs.update(zip(order, args, strict=False))
        args = ()
    return tf.split(*args, **kwargs)


def reverse(tensor: Any, axis: Any = None, name: str | None = None, dims: Any = None) -> Any:
    """`tf.reverse` of axes, or of one boolean for each dimension as before 1.0."""
    axis = dims if axis is None else axis
    if isinstance(axis, (list, tuple, np.ndarray)) and len(axis):
        flags = np.asarray(axis)
        if flags.dtype == bool:
            axis = [int(index) for index in np.flatnonzero(flags)]
    return tf.reverse(tensor, axis, name=name)


def batch_matmul(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False, name: Any = None) -> Any:
    """`tf.matmul` of the last two dimensions."""
    return tf.matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y, name=name)


def split_v(value: Any, size_splits: Any, split_dim: Any = 0, num: Any = None, name: Any = "split"):
    """`tf.split` into parts of given sizes."""
    return tf.split(value, size_splits, split_dim, num, name)


class RegisterShape:
    """Decorates the shape function of an operation, which TensorFlow itself has since 1.0."""

    def __init__(self, op_type: str) -> None:
        """Args: op_type: the type of the operation."""
        self._op_type = op_type

    def __call__(self, f: Any) -> Any:
        """Returns the function as it is."""
        return f


def op_scope(values: Any, name: Any, default_name: Any = None) -> Any:
    """`tf.name_scope` with its arguments in the old order."""
    return tf.name_scope(name, default_name, values)


def scalar_summary(tags: Any, values: Any, collections: Any = None, name: Any = None) -> Any:
    """A summary whose tags are exactly these; tags and values have one shape."""
    values = tf.convert_to_tensor(values)
    made = tf.raw_ops.ScalarSummary(tags=tags, values=values, name=name or "ScalarSummary")
    return _collected(made, collections)


def histogram_summary(tag: Any, values: Any, collections: Any = None, name: Any = None) -> Any:
    """A summary with a histogram."""
    values = tf.convert_to_tensor(values)
    made = tf.raw_ops.HistogramSummary(tag=tag, values=values, name=name or "HistogramSummary")
    return _collected(made, collections)


def image_summary(
    tag: Any, tensor: Any, max_images: int = 3, collections: Any = None, name: Any = None
) -> Any:
    """A summary with up to `max_images` images of a batch [batch, height, width, channels]."""
    made = tf.raw_ops.ImageSummary(
        tag=tag, tensor=tensor, max_images=max_images, name=name or "ImageSummary"
    )
    return _collected(made, collections)


def audio_summary(
    tag: Any,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    name: Any = None,
) -> Any:
    """A summary with up to `max_outputs` sounds of a batch [batch, frames, channels]."""
    made = tf.raw_ops.AudioSummaryV2(
        tag=tag,
        tensor=tensor,
        sample_rate=tf.cast(sample_rate, tf.float32),
        max_outputs=max_outputs,
        name=name or "AudioSummary",
    )
    return _collected(made, collections)


def summary_writer(
    logdir: str,
    graph: Any = None,
    max_queue: int = 10,
    flush_secs: int = 120,
    graph_def: Any = None,
) -> Any:
    """`tf.summary.FileWriter`; a GraphDef may be given in the place of the graph."""
    if graph is not None and not isinstance(graph, tf.Graph):
        graph, graph_def = None, graph
    return tf.summary.FileWriter(logdir, graph, max_queue, flush_secs, graph_def)


def per_image_whitening(image: Any) -> Any:
    """`tf.image.per_image_standardization`."""
    return tf.image.per_image_standardization(image)


def resize_images(images: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
    """`tf.image.resize_images(images, size, ...)`, or `(images, height, width, ...)` as before."""
    if "new_height" in kwargs:
        size = (kwargs.pop("new_height"), kwargs.pop("new_width"))
    elif _is_number(size) and args:
        size, args = (size, args[0]), args[1:]
    return tf.image.resize_images(images, size, *args, **kwargs)


def softmax_cross_entropy_with_logits(*args: Any, **kwargs: Any) -> Any:
    """The function of labels= and logits=, or of (logits, labels) as before 1.0."""
    return tf.nn.softmax_cross_entropy_with_logits(**_by_name(args, kwargs))


def sparse_softmax_cross_entropy_with_logits(*args: Any, **kwargs: Any) -> Any:
    """The function of labels= and logits=, or of (logits, labels) as before 1.0."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(**_by_name(args, kwargs))


def sigmoid_cross_entropy_with_logits(*args: Any, **kwargs: Any) -> Any:
    """The function of labels= and logits=, or of (logits, targets) as before 1.0."""
    named = _by_name(args, _renamed(kwargs, targets="labels"))
    return tf.nn.sigmoid_cross_entropy_with_logits(**named)


def weighted_cross_entropy_with_logits(*args: Any, **kwargs: Any) -> Any:
    """The function of (labels, logits, pos_weight), of which labels were called targets."""
    return tf.nn.weighted_cross_entropy_with_logits(*args, **_renamed(kwargs, targets="labels"))


def nce_loss(weights: Any, biases: Any, *args: Any, **kwargs: Any) -> Any:
    """`tf.nn.nce_loss(weights, biases, labels, inputs, ...)`, or inputs before labels as before."""
    return tf.nn.nce_loss(weights, biases, *_labels_first(args), **kwargs)


def sampled_softmax_loss(weights: Any, biases: Any, *args: Any, **kwargs: Any) -> Any:
    """`tf.nn.sampled_softmax_loss` of labels before inputs, or inputs before labels as before."""
    return tf.nn.sampled_softmax_loss(weights, biases, *_labels_first(args), **kwargs)


def _labels_first(args: Sequence[Any]) -> Sequence[Any]:
    """Labels are integers and inputs are not, which tells one order from the other."""
    if len(args) >= 2:
        first, second = (tf.convert_to_tensor(arg) for arg in args[:2])
        if not first.dtype.is_integer and second.dtype.is_integer:
            return (second, first, *args[2:])
    return args


def _by_name(args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**dict(zip(("logits", "labels", "name"), args, strict=False)), **kwargs}


def _renamed(kwargs: dict[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in kwargs.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _collected(summary: Any, collections: Any) -> Any:
    for collection in [_SUMMARIES] if collections is None else collections:
        tf.add_to_collection(collection, summary)
    return summary
