"""Trains a small convolutional network on handwritten digits, evaluates it and exports it.

    mox run train.py --data_url=FOLDER --train_url=FOLDER                        trains, or resumes
    mox run train.py --data_url=FOLDER --train_url=FOLDER --run_mode=EVAL        evaluates, exports

FOLDER of `--data_url` holds MNIST's four files, or what make_data.py writes in their place.
"""

import gzip
import os

import moxing.tensorflow as mox  # isort: skip  # before TensorFlow, which it keeps quiet
import numpy as np
import tensorflow.compat.v1 as tf

tf.flags.DEFINE_string("data_url", None, "folder with MNIST's four idx .gz files")
tf.flags.DEFINE_string("train_url", None, "folder for checkpoints, summaries and exports")
tf.flags.DEFINE_enum("run_mode", "TRAIN", ["TRAIN", "EVAL"], "what to do")
tf.flags.DEFINE_integer("steps", 600, "train until this global step")
FLAGS = tf.flags.FLAGS

BATCH_SIZE = 50


def read_split(split):
    """Images [n, 28, 28, 1] in 0..255 and labels [n], both uint8."""

    def read(kind, header_bytes):
        path = os.path.join(FLAGS.data_url, f"{split}-{kind}-ubyte.gz")
        with gzip.open(path) as file:
            return np.frombuffer(file.read(), np.uint8, offset=header_bytes)

    return read("images-idx3", 16).reshape(-1, 28, 28, 1), read("labels-idx1", 8)


def input_fn(mode):
    """One image and its label; mox.run makes batches of them."""
    training = mode == mox.ModeKeys.TRAIN
    images, labels = read_split("train" if training else "t10k")
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    if training:
        dataset = dataset.shuffle(len(images), seed=1).repeat()
    image, label = tf.data.make_one_shot_iterator(dataset).get_next()
    return tf.cast(image, tf.float32) / 255.0, tf.cast(label, tf.int32)


def network(images, training):
    """Two convolutions with batch norm, then two dense layers: logits [batch, 10]."""
    net = images
    for filters in (32, 64):
        net = tf.layers.conv2d(net, filters, 3, padding="same", use_bias=False)
        net = tf.layers.batch_normalization(net, momentum=0.9, training=training)
        net = tf.layers.max_pooling2d(tf.nn.relu(net), 2, 2)
    net = tf.layers.dense(tf.layers.flatten(net), 128, activation=tf.nn.relu)
    logits = tf.layers.dense(tf.layers.dropout(net, 0.4, training=training), 10)
    return tf.cast(logits, tf.float32)  # also when the rest is computed in 16 bits


def model_fn(inputs, mode):
    """The loss to minimize, the values to log, and what the exported model takes and gives."""
    images, labels = inputs
    logits = network(images, training=mode == mox.ModeKeys.TRAIN)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    correct = tf.nn.in_top_k(logits, labels, 1)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    return mox.ModelSpec(
        loss=loss,
        log_info={"loss": loss, "accuracy": accuracy},
        export_spec=mox.ExportSpec(
            inputs_dict={"images": images},
            outputs_dict={"digits": tf.argmax(logits, 1), "scores": tf.nn.softmax(logits)},
        ),
    )


def main(_):
    evaluating = FLAGS.run_mode == "EVAL"
    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("adam", learning_rate=0.001),
        run_mode=FLAGS.run_mode,
        batch_size=BATCH_SIZE,
        log_dir=FLAGS.train_url,
        max_number_of_steps=10**6 if evaluating else FLAGS.steps,
        log_every_n_steps=100,
        export_model=mox.ExportKeys.TF_SERVING if evaluating else False,
    )


if __name__ == "__main__":
    tf.app.run(main=main)
