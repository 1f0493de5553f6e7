"""The entry of a trainer package, started as a module."""

import argparse
import os

import numpy as np
import tensorflow as tf

import trainer.model as model


def input_fn(seed, count, epochs):
    random = np.random.RandomState(seed)
    size, color = random.rand(count).astype("float32"), random.choice(["red", "blue"], count)
    label = np.where((size > 0.5) == (color == "red"), "yes", "no")
    return tf.estimator.inputs.numpy_input_fn(
        {"size": size, "color": color}, label, batch_size=50, num_epochs=epochs, shuffle=True
    )


def run(args):
    config = tf.estimator.RunConfig(tf_random_seed=1).replace(model_dir=args.job_dir)
    print("Model dir: %s" % config.model_dir)
    params = tf.contrib.training.HParams(
        columns=model.features(), hidden_units=[16, 8], learning_rate=0.3
    )
    estimator = tf.estimator.Estimator(model.model_fn, config=config, params=params)
    exporter = tf.estimator.LatestExporter("census", model.json_serving_input_fn)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn(0, 1000, None), max_steps=args.train_steps),
        tf.estimator.EvalSpec(input_fn(1, 200, 1), steps=None, exporters=[exporter]),
    )
    values = estimator.evaluate(input_fn(1, 200, 1))
    assert values["accuracy"] > 0.9, values
    assert os.listdir(os.path.join(args.job_dir, "export", "census"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--job-dir", required=True)
    parser.add_argument("--train-steps", type=int, default=200)
    run(parser.parse_args())
