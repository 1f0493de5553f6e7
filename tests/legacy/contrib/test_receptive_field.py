"""The receptive field that contrib computes is the one that gradients of the network show."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib.receptive_field import (
    ReceptiveField,
    compute_receptive_field_from_graph_def,
)

SIZE = 45


def _conv(x, kernel, stride=1, padding="SAME", rate=1):
    weights = tf.get_variable(f"w{len(tf.global_variables())}", [*kernel, x.shape[3], 2])
    return tf.nn.conv2d(
        x, weights, [1, stride, stride, 1], padding, dilations=[1, rate, rate, 1], name=None
    )


def _plain(x):
    x = tf.nn.relu(_conv(x, (3, 5)))
    x = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    return _conv(x, (3, 3), stride=2, padding="VALID")


def _padded(x):
    x = tf.pad(x, [[0, 0], [3, 3], [1, 2], [0, 0]])
    x = _conv(x, (7, 3), stride=2, padding="VALID")
    return tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")


def _branches(x):
    x = _conv(x, (3, 3), rate=2)
    y = _conv(_conv(x, (3, 3)), (3, 3))
    return tf.concat([_conv(x, (1, 1)), y], 3)


@pytest.mark.parametrize("build", [_plain, _padded, _branches])
def test_the_field_is_where_gradients_are(build) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        image = tf.placeholder(tf.float32, [1, SIZE, SIZE, 1], "image")
        output = tf.identity(build(image), "output")
        for variable in tf.trainable_variables():
            variable.initializer.run()
        # Weights of ones let no gradient vanish; a ramp decides every maximum alike.
        session.run([tf.assign(v, tf.ones_like(v)) for v in tf.trainable_variables()])
        ramp = np.arange(1, SIZE * SIZE + 1, dtype=np.float32).reshape(1, SIZE, SIZE, 1)
        middle = [int(size) // 2 for size in output.shape[1:3]]
        seen = _reach(session, image, output, middle, ramp)
        moved = _reach(session, image, output, [place + 1 for place in middle], ramp)

        found = compute_receptive_field_from_graph_def(
            graph.as_graph_def(), "image", "output", input_resolution=[SIZE, SIZE]
        )

    size_x, size_y, stride_x, stride_y, pad_x, pad_y = found
    # A maximum passes the gradient of one of its inputs: the last row and column of the ramp.
    assert [stride_y, stride_x] == [
        after - before for (_, after), (_, before) in zip(moved, seen, strict=True)
    ]
    for axis, (size, stride, pad) in enumerate(
        [(size_y, stride_y, pad_y), (size_x, stride_x, pad_x)]
    ):
        assert seen[axis][1] == middle[axis] * stride - pad + size - 1
        if build is not _plain:
            assert seen[axis][0] == middle[axis] * stride - pad


def _reach(session, image, output, place, picture):
    (gradient,) = tf.gradients(tf.reduce_sum(output[0, place[0], place[1]]), image)
    rows, columns = np.nonzero(session.run(gradient, {image: picture})[0, :, :, 0])
    return [(rows.min(), rows.max()), (columns.min(), columns.max())]


def test_a_known_network_has_the_known_field() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [1, None, None, 3], "image")
        x = tf.identity(_conv(_conv(x, (7, 7), stride=2, padding="VALID"), (3, 3)), "output")
        field = compute_receptive_field_from_graph_def(graph, "image", "output")
        stopped = compute_receptive_field_from_graph_def(
            graph, "image", "output", stop_propagation=["unknown"]
        )

    assert list(field) == list(stopped) == [11, 11, 2, 2, 2, 2]
    assert field.compute_input_center_coordinates([[0, 3]]).tolist() == [[3.0, 9.0]]
    assert field.compute_feature_coordinates([[3.0, 9.0]]).tolist() == [[0.0, 3.0]]
    assert field.compute_feature_coordinates([[9.0]], axis=[1]).tolist() == [[3.0]]


def test_unknown_paddings_and_mistakes_are_told() -> None:
    with tf.Graph().as_default() as graph:
        image = tf.placeholder(tf.float32, [1, None, None, 3], "image")
        tf.identity(_conv(image, (3, 3), stride=2), "depends")
        tf.identity(_conv(image, (2, 2), stride=2), "does_not")
        tf.add(_conv(image, (3, 3), padding="VALID"), _conv(image, (3, 3)), name="shifted")
        tf.reduce_mean(image, [1, 2], name="mean")
    of = compute_receptive_field_from_graph_def

    assert list(of(graph, "image", "depends"))[4:] == [None, None]
    assert list(of(graph, "image", "depends", input_resolution=(8, 9)))[4:] == [1, 0]
    assert list(of(graph, "image", "does_not")) == [2, 2, 2, 2, 0, 0]
    with pytest.raises(ValueError, match="not aligned: the centers .* 'image'"):
        of(graph, "image", "shifted")
    with pytest.raises(ValueError, match="Unknown layer for operation 'mean': Mean"):
        of(graph, "image", "mean")
    with pytest.raises(ValueError, match="Input node was not found: .* 'picture'"):
        of(graph, "picture", "mean")
    with pytest.raises(ValueError, match="'image' does not depend on 'mean'"):
        of(graph, "mean", "image")
    with pytest.raises(ValueError, match="coordinates 1 does not match"):
        ReceptiveField([1, 1], [1, 1], [0, 0]).compute_feature_coordinates([[1]])
