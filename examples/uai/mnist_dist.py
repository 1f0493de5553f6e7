"""A program of UAI Train: a small convolutional network on MNIST, on any number of nodes.

It is written as programs for TensorFlow 2.0 were: the master is renamed, the strategy is chosen by
the role, and a Keras model becomes an Estimator. Nothing of that had to change.
"""

import json
import os

import mnist_data
import tensorflow as tf
from absl import app, flags

FLAGS = flags.FLAGS
# The platform passes these four.
flags.DEFINE_string("work_dir", "/data", "where the program is")
flags.DEFINE_string("data_dir", "/data/data", "where the data is")
flags.DEFINE_string("output_dir", "/data/output", "what comes back to the user")
flags.DEFINE_integer("num_gpus", 1, "GPUs of this node")
# The program's own.
flags.DEFINE_integer("max_steps", 1000, "updates")
flags.DEFINE_integer("save_steps", 200, "updates between checkpoints")
flags.DEFINE_integer("batch_size", 64, "images of a batch, on each device")


def build_model():
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Conv2D(32, 3, activation="relu", input_shape=(28, 28, 1)),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(mnist_data.CLASSES, activation="softmax"),
        ]
    )
    model.compile(
        optimizer=tf.compat.v1.train.AdamOptimizer(0.001),
        loss="categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


def input_fn(split):
    def read():
        dataset = tf.data.Dataset.from_tensor_slices(mnist_data.load(FLAGS.data_dir, split))
        if split == "train":
            dataset = dataset.shuffle(10000).repeat(5)
        return dataset.batch(FLAGS.batch_size)

    return read


def rename_master():
    """TensorFlow 2.0 wanted a chief; openmox takes either."""
    config = json.loads(os.environ.get("TF_CONFIG", "{}"))
    if "master" in config.get("cluster", {}):
        config["cluster"]["chief"] = config["cluster"].pop("master")
        if config["task"]["type"] == "master":
            config["task"]["type"] = "chief"
        os.environ["TF_CONFIG"] = json.dumps(config)
    return config.get("task", {}).get("type", "chief")


def main(_):
    role = rename_master()
    if role == "ps":
        strategy = tf.distribute.experimental.ParameterServerStrategy()
    else:
        strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    config = tf.estimator.RunConfig(
        train_distribute=strategy, save_checkpoints_steps=FLAGS.save_steps
    )
    estimator = tf.keras.estimator.model_to_estimator(
        build_model(), model_dir=FLAGS.output_dir, config=config
    )
    result = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn("train"), max_steps=FLAGS.max_steps),
        tf.estimator.EvalSpec(input_fn("test"), steps=None, start_delay_secs=0),
    )
    if result[0]:
        print("accuracy", result[0]["accuracy"], "after step", result[0]["global_step"])


if __name__ == "__main__":
    app.run(main)
