"""`tf.contrib.slim` is whole under `mox run`: layers, nets, data, training."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import pytest
import warm

PROGRAM = """
    import sys
    import numpy as np
    import tensorflow as tf
    from tensorflow.contrib.slim.nets import resnet_v1
    slim = tf.contrib.slim

    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, [2, 64, 64, 3])
        with slim.arg_scope(resnet_v1.resnet_arg_scope()):
            resnet_v1.resnet_v1_50(images, 10, is_training=True)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        assert len(updates) == 106 and len(tf.losses.get_regularization_losses()) == 54

    with tf.Graph().as_default(), tf.Session() as session:
        png = session.run(tf.image.encode_png(np.zeros([4, 4, 3], np.uint8)))
    with tf.python_io.TFRecordWriter('a.tfrecord') as writer:
        for label in range(4):
            writer.write(tf.train.Example(features=tf.train.Features(feature={
                'image/encoded': tf.train.Feature(bytes_list=tf.train.BytesList(value=[png])),
                'image/format': tf.train.Feature(bytes_list=tf.train.BytesList(value=[b'png'])),
                'image/class/label': tf.train.Feature(
                    int64_list=tf.train.Int64List(value=[label]))})).SerializeToString())
    with tf.Graph().as_default():
        decoder = slim.tfexample_decoder.TFExampleDecoder(
            {'image/encoded': tf.FixedLenFeature((), tf.string, ''),
             'image/format': tf.FixedLenFeature((), tf.string, 'png'),
             'image/class/label': tf.FixedLenFeature([], tf.int64)},
            {'image': slim.tfexample_decoder.Image(shape=[4, 4, 3]),
             'label': slim.tfexample_decoder.Tensor('image/class/label')})
        data = slim.dataset.Dataset('a.tfrecord', tf.TFRecordReader, decoder, 4, {})
        provider = slim.dataset_data_provider.DatasetDataProvider(
            data, shuffle=False, common_queue_capacity=8, common_queue_min=1)
        batch = tf.train.batch(provider.get(['image', 'label']), 2)
        with tf.train.MonitoredTrainingSession() as session:
            assert session.run(batch)[1].tolist() == [0, 1]

    with tf.Graph().as_default():
        net = slim.fully_connected(tf.ones([4, 3]), 1, normalizer_fn=slim.batch_norm)
        loss = tf.losses.mean_squared_error(tf.ones([4, 1]), net)
        train = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
        other = slim.optimize_loss(loss, None, 0.1, 'Adam', clip_gradients=1.0)
        value, update = slim.metrics.streaming_accuracy(tf.constant([1, 1]), tf.constant([1, 0]))
        final = slim.learning.train(train, 'out', number_of_steps=3, save_summaries_secs=0)
        assert np.isfinite(final)
    assert tf.train.latest_checkpoint('out').endswith('model.ckpt-3')
    # What slim misses of TensorFlow's private files is in its own imports, not put back there.
    real = sys.modules['tensorflow.python.ops.control_flow_ops']
    assert not hasattr(real, 'case') and not hasattr(sys.modules['tensorflow'], 'contrib')
    print('all is well')
"""


@pytest.mark.slow
def test_a_program_with_slim(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(textwrap.dedent(PROGRAM))

    done = warm.run(
        [sys.executable, "-m", "moxing", "run", "train.py"],
        cwd=tmp_path,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=240,
    )

    assert (done.returncode, done.stdout) == (0, "all is well\n"), done.stderr
