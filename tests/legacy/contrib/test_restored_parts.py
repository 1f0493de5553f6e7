"""Parts of contrib that programs reach by the face: convolutions, clusters, scaled losses."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.errors import MoxValueError
from moxing.legacy.contrib.training import mixed_precision
from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


@pytest.mark.parametrize("part", ["layers", "slim"])
def test_convolutions_take_inputs_of_three_ranks(faces: Faces, part: str) -> None:
    shown = faces.load(f"tensorflow.contrib.{part}")
    scope = faces.load("tensorflow.contrib.framework").arg_scope
    random = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        ones = tf.ones_initializer()
        with scope([shown.conv2d], weights_initializer=ones, activation_fn=None):
            made = [
                shown.conv2d(tf.ones([2, *[4] * rank, 3]), 5, 2, padding="VALID")
                for rank in (1, 2, 3)
            ]
            relu = shown.conv2d(-tf.ones([2, 4, 3]), 5, [3], 2, activation_fn=tf.nn.relu)
        x = random.normal(size=[1, 6, 2]).astype(np.float32)
        mixed = shown.convolution2d(x, 4, 1, scope="mixed", activation_fn=None)
        names = [v.op.name for v in tf.global_variables()]
        session.run(tf.global_variables_initializer())
        values, still, mixed, weights = session.run(
            [made, relu, mixed, next(v for v in tf.global_variables("mixed/weights"))]
        )

    for rank, value in enumerate(values, 1):
        np.testing.assert_allclose(value, np.full([2, *[3] * rank, 5], 3.0 * 2**rank))
    assert still.shape == (2, 2, 5)
    assert not still.any()
    np.testing.assert_allclose(mixed, x @ weights[0], atol=1e-5)
    assert names[:4] == ["Conv/weights", "Conv/biases", "Conv_1/weights", "Conv_1/biases"]


def test_k_means_finds_clusters(faces: Faces) -> None:
    factorization = faces.load("tensorflow.contrib.factorization")
    middles = np.array([[0, 0], [9, 0], [0, 9]], np.float32)
    random = np.random.default_rng(1)
    points = (np.repeat(middles, 20, 0) + random.uniform(-1, 1, [60, 2])).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, [None, 2])
        graph = factorization.KMeans(
            fed, 3, initial_clusters=factorization.KMEANS_PLUS_PLUS_INIT, use_mini_batch=False
        ).training_graph()
        _, clusters, _, _, start, train = graph
        session.run(tf.global_variables_initializer(), {fed: points})
        session.run(start, {fed: points})
        for _ in range(10):
            session.run(train, {fed: points})
        found = session.run(clusters[0], {fed: points}).reshape(3, 20)
    assert [len(set(group)) for group in found] == [1, 1, 1]
    assert len(set(found[:, 0])) == 3


def test_a_fixed_factor_changes_no_gradient() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.Variable([[1.0], [2.0]])
        loss = tf.reduce_sum(tf.gather(rows, [1, 1]) ** 2)
        optimizer = mixed_precision.LossScaleOptimizer(
            tf.train.GradientDescentOptimizer(0.1), mixed_precision.FixedLossScaleManager(128)
        )
        step = tf.Variable(0)
        train = optimizer.minimize(loss, global_step=step)
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(rows), [[1.0], [2.0 - 0.1 * 8]], rtol=1e-5)
        assert session.run(step) == 1
    with pytest.raises(MoxValueError, match=r"loss_scale is 0\.5"):
        mixed_precision.FixedLossScaleManager(0.5)


def test_a_factor_follows_the_gradients() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w, x = tf.Variable(1.0), tf.placeholder(tf.float32, [])
        manager = mixed_precision.ExponentialUpdateLossScaleManager(8, 2, 2, 4, 0.5)
        optimizer = mixed_precision.LossScaleOptimizer(
            tf.train.GradientDescentOptimizer(1.0), manager
        )
        train, scale = optimizer.minimize(w * x), manager.get_loss_scale()
        session.run(tf.global_variables_initializer())
        seen = []
        for value in [1, 1, np.inf, 1, np.nan, 1, np.inf, np.inf]:
            session.run(train, {x: value})
            seen.append(session.run([scale, w]))
    # Two finite steps: 8 to 32. Steps that are not finite count together until a change.
    assert [float(s) for s, _ in seen] == [8, 32, 32, 32, 16, 16, 16, 8]
    assert [float(v) for _, v in seen] == [0, -1, -1, -2, -2, -3, -3, -3]


def test_other_names_are_shown(faces: Faces) -> None:
    rnn = faces.load("tensorflow.python.ops.rnn")
    assert rnn.bidirectional_rnn is tf.nn.static_bidirectional_rnn
    assert (rnn.rnn, rnn.dynamic_rnn) == (tf.nn.static_rnn, tf.nn.dynamic_rnn)
    assert faces.load("tensorflow.python.layers.base")._Layer is tf.layers.Layer
    cells = faces.load("tensorflow.python.ops.rnn_cell_impl")
    assert cells._RNNCell is tf.nn.rnn_cell.RNNCell
    cudnn = faces.load("tensorflow.contrib.cudnn_rnn.python.layers.cudnn_rnn")
    assert cudnn.CudnnLSTM is faces.load("tensorflow.contrib.cudnn_rnn").CudnnLSTM
    stats = faces.load("tensorflow.contrib.memory_stats")
    with tf.Graph().as_default(), tf.Session() as session:
        used = session.run([stats.BytesInUse(), stats.MaxBytesInUse(), stats.BytesLimit()])
    assert all(value.dtype == np.int64 and value >= 0 for value in used)
    assert used[0] <= used[1]


def test_the_signal_files_are_found_by_their_private_paths(faces: Faces) -> None:
    files = faces.load("tensorflow.contrib.signal.python.ops")
    with tf.Graph().as_default(), tf.Session() as session:
        window = session.run(files.window_ops.hann_window(8))
        mel = files.mel_ops.linear_to_mel_weight_matrix(num_mel_bins=3, num_spectrogram_bins=9)
        assert mel.shape == [9, 3]
    np.testing.assert_allclose(window, 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(8) / 8), atol=1e-6)
    assert faces.load("tensorflow").contrib.signal.stft is tf.signal.stft


def test_the_reductions_over_devices_have_the_names_of_both_times(faces: Faces) -> None:
    shown = faces.load("tensorflow").contrib.distribute
    assert shown.AllReduceCrossDeviceOps("nccl", num_packs=2)
    assert shown.AllReduceCrossTowerOps is shown.AllReduceCrossDeviceOps
    assert issubclass(shown.ReductionToOneDeviceCrossTowerOps, tf.distribute.CrossDeviceOps)


def test_directions_of_cudnn_and_nests_of_data_are_in_their_files(faces: Faces) -> None:
    nest = faces.load("tensorflow.contrib.data.python.util").nest
    assert nest.flatten([(1, 2), 3]) == [1, 2, 3]
    file = faces.load("tensorflow.contrib.cudnn_rnn.python.ops.cudnn_rnn_ops")
    assert file.CUDNN_RNN_BIDIRECTION == "bidirectional"
    assert file.CudnnGRU is faces.load("tensorflow").contrib.cudnn_rnn.CudnnGRU
