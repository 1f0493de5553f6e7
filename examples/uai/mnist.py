"""A program of UAI Train on one node: a dense network on MNIST, saved as an .h5 file."""

import os

import mnist_data
import numpy as np
import tensorflow as tf
from absl import app, flags

FLAGS = flags.FLAGS
# The platform passes these four.
flags.DEFINE_string("work_dir", "/data", "where the program is")
flags.DEFINE_string("data_dir", "/data/data", "where the data is")
flags.DEFINE_string("output_dir", "/data/output", "what comes back to the user")
flags.DEFINE_integer("num_gpus", 1, "GPUs of this node")
# The program's own.
flags.DEFINE_integer("epochs", 5, "passes over the data")


def build_model():
    model = tf.keras.models.Sequential(
        [
            tf.keras.layers.Flatten(input_shape=(28, 28, 1)),
            tf.keras.layers.Dense(512, activation=tf.nn.relu),
            tf.keras.layers.Dropout(0.2),
            tf.keras.layers.Dense(mnist_data.CLASSES, activation=tf.nn.softmax),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main(_):
    images, labels = mnist_data.load(FLAGS.data_dir, "train")
    test_images, test_labels = mnist_data.load(FLAGS.data_dir, "test")
    model = build_model()
    model.fit(images, np.argmax(labels, 1), epochs=FLAGS.epochs, verbose=2)
    path = os.path.join(FLAGS.output_dir, "mnist.h5")
    model.save(path)

    again = tf.keras.models.load_model(path)
    same = np.array_equal(again.predict(test_images), model.predict(test_images))
    _, accuracy = again.evaluate(test_images, np.argmax(test_labels, 1), verbose=0)
    print("accuracy", round(accuracy, 4), "of", path, "which predicts the same:", same)


if __name__ == "__main__":
    app.run(main)
