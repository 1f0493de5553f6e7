"""The cells of NASNet and PNASNet, as data, and the function that builds a cell."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.nets.layers import avg_pool, concat, conv2d, max_pool, separable_conv2d
from moxing.tensorflow.nets.norm import batch_norm
from moxing.tensorflow.nets.style import Style


@dataclass(frozen=True)
class Cell:
    """A cell: five combinations of two hidden states each.

    Attributes:
        operations: two operations per combination: "separable_<k>" (two separable convolutions),
            "avg", "max" (3x3 pooling) or "none".
        inputs: two indices of hidden states per combination; 0 is the cell's input, 1 the previous
            cell's input, and 2 and above are the combinations.
        used: for each of the seven hidden states, whether a combination reads it; the other states
            are concatenated.
    """

    operations: tuple[str, ...]
    inputs: tuple[int, ...]
    used: tuple[int, ...]


# Zoph et al., arXiv:1707.07012, figure 4.
NASNET_NORMAL = Cell(
    operations=(
        *("separable_5", "separable_3"),
        *("separable_5", "separable_3"),
        *("avg", "none"),
        *("avg", "avg"),
        *("separable_3", "none"),
    ),
    inputs=(0, 1, 1, 1, 0, 1, 1, 1, 0, 0),
    used=(1, 0, 0, 0, 0, 0, 0),
)
NASNET_REDUCTION = Cell(
    operations=(
        *("separable_5", "separable_7"),
        *("max", "separable_7"),
        *("avg", "separable_5"),
        *("none", "avg"),
        *("separable_3", "max"),
    ),
    inputs=(0, 1, 0, 1, 0, 1, 3, 2, 2, 0),
    used=(1, 1, 1, 0, 0, 0, 0),
)
# Liu et al., arXiv:1712.00559, figure 1.
PNASNET = Cell(
    operations=(
        *("separable_5", "max"),
        *("separable_7", "max"),
        *("separable_5", "separable_3"),
        *("separable_3", "max"),
        *("separable_3", "none"),
    ),
    inputs=(1, 1, 0, 0, 0, 0, 4, 0, 1, 0),
    used=(1, 1, 0, 0, 0, 0, 0),
)


def build_cell(
    style: Style,
    cell: Cell,
    net: tf.Tensor,
    previous: tf.Tensor | None,
    *,
    depth: int,
    stride: int,
    scope: str,
    keep: tf.Tensor | None,
) -> tf.Tensor:
    """Builds a cell of `depth` channels per state on `net` and the previous cell's output.

    `keep` is the probability that drop-path keeps a path; None keeps all paths.
    """
    with tf.variable_scope(scope):
        previous = _match(style, previous, net, depth)
        states = [_begin(style, net, depth), previous]
        for index in range(5):
            with tf.variable_scope(f"comb_iter_{index}"):
                sides = []
                for side, number in (("left", 2 * index), ("right", 2 * index + 1)):
                    with tf.variable_scope(side):
                        source = cell.inputs[number]
                        state = _operate(
                            style,
                            states[source],
                            cell.operations[number],
                            depth,
                            stride if source < 2 else 1,
                            keep,
                        )
                        sides.append(state)
                states.append(sides[0] + sides[1])
        with tf.variable_scope("cell_output"):
            return _combine(style, cell, states)


def normalized_conv2d(
    style: Style,
    net: tf.Tensor,
    depth: int,
    kernel: int,
    *,
    scope: str,
    norm_scope: str,
    stride: int = 1,
    padding: str = "SAME",
) -> tf.Tensor:
    """Applies a convolution and batch norm in sibling scopes, as in slim's NASNet."""
    net = conv2d(style, net, depth, kernel, stride=stride, padding=padding, scope=scope)
    return batch_norm(style, net, scope=norm_scope)


def _begin(style: Style, net: tf.Tensor, depth: int) -> tf.Tensor:
    return normalized_conv2d(
        style, tf.nn.relu(net), depth, 1, scope="1x1", norm_scope="beginning_bn"
    )


def _match(style: Style, previous: tf.Tensor | None, net: tf.Tensor, depth: int) -> tf.Tensor:
    """Returns `previous` with the image size and depth of this cell."""
    if previous is None:
        return net
    if None in (*style.size(net), *style.size(previous)):
        raise MoxValueError(
            "the NASNet family needs images of a known size, as it joins cells of different "
            "sizes; give it with images.set_shape([None, height, width, 3])"
        )
    if style.size(previous) != style.size(net):
        return _factorized_reduction(style, tf.nn.relu(previous), depth, stride=2)
    if style.channels(previous) != depth:
        return normalized_conv2d(
            style, tf.nn.relu(previous), depth, 1, scope="prev_1x1", norm_scope="prev_bn"
        )
    return previous


def _operate(
    style: Style,
    net: tf.Tensor,
    operation: str,
    depth: int,
    stride: int,
    keep: tf.Tensor | None,
) -> tf.Tensor:
    narrower = style.channels(net) != depth
    if operation == "none":
        if stride > 1 or narrower:
            net = normalized_conv2d(
                style, tf.nn.relu(net), depth, 1, stride=stride, scope="1x1", norm_scope="bn_1"
            )
        return net
    if operation.startswith("separable_"):
        net = _separable_twice(style, net, depth, int(operation[-1]), stride)
    else:
        if operation == "avg":
            net = avg_pool(style, net, 3, stride=stride, scope="AvgPool2D")
        else:
            net = max_pool(style, net, 3, stride=stride, padding="SAME", scope="MaxPool2D")
        if narrower:
            net = normalized_conv2d(style, net, depth, 1, scope="1x1", norm_scope="bn_1")
    return net if keep is None else _drop_path(net, keep)


def _separable_twice(
    style: Style, net: tf.Tensor, depth: int, kernel: int, stride: int
) -> tf.Tensor:
    for number in (1, 2):
        net = separable_conv2d(
            style,
            tf.nn.relu(net),
            depth,
            kernel,
            stride=stride if number == 1 else 1,
            scope=f"separable_{kernel}x{kernel}_{number}",
        )
        net = batch_norm(style, net, scope=f"bn_sep_{kernel}x{kernel}_{number}")
    return net


def _combine(style: Style, cell: Cell, states: list[tf.Tensor]) -> tf.Tensor:
    last = states[-1]
    unused = []
    for index, (state, used) in enumerate(zip(states, cell.used, strict=True)):
        if used:
            continue
        shrink = style.size(state) != style.size(last)
        if shrink or style.channels(state) != style.channels(last):
            with tf.variable_scope(f"reduction_{index}"):
                depth = style.channels(last)
                state = _factorized_reduction(style, state, depth, stride=2 if shrink else 1)
        unused.append(state)
    return concat(style, unused)


def _factorized_reduction(style: Style, net: tf.Tensor, depth: int, *, stride: int) -> tf.Tensor:
    """Applies two 1x1 convolutions to pixels shifted by one, so that halving loses no pixels."""
    if stride == 1:
        return normalized_conv2d(style, net, depth, 1, scope="path_conv", norm_scope="path_bn")
    halves = []
    for number, shifted in ((1, net), (2, _shift(style, net))):
        part = tf.nn.avg_pool2d(
            shifted,
            1,
            style.per_axis((stride, stride)),
            "VALID",
            data_format=style.data_format,
        )
        halves.append(conv2d(style, part, depth // 2, 1, scope=f"path{number}_conv"))
    return batch_norm(style, concat(style, halves), scope="final_path_bn")


def _shift(style: Style, net: tf.Tensor) -> tf.Tensor:
    """Shifts `net` up and left by one pixel, and fills with zeros."""
    paddings = [[0, 0], [0, 0], [0, 0], [0, 0]]
    begin = [0, 0, 0, 0]
    for axis in style.spatial_axes:
        paddings[axis] = [0, 1]
        begin[axis] = 1
    return tf.slice(tf.pad(net, paddings), begin, [-1, -1, -1, -1])


def _drop_path(net: tf.Tensor, keep: tf.Tensor) -> tf.Tensor:
    """Zeroes the path for whole samples with probability 1 - keep, scales the others."""
    keep = tf.cast(keep, tf.float32)
    kept = tf.floor(keep + tf.random_uniform([tf.shape(net)[0], 1, 1, 1])) / keep
    return net * tf.cast(kept, net.dtype)
