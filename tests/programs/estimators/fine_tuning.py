"""A small transformer in the manner of 2018: pre-trained on masked words, then fine-tuned."""

import argparse
import os
import re

import numpy as np
import tensorflow as tf

WORDS, LENGTH, WIDTH, MASK = 40, 12, 16, 1
GOOD = 7  # A sentence with this word is of class 1.


class AdamWeightDecayOptimizer(tf.train.Optimizer):
    """Adam that decays weights beside its moments, and applies gradients itself."""

    def __init__(self, learning_rate, exclude=("norm", "bias")):
        super().__init__(False, "AdamWeightDecayOptimizer")
        self.learning_rate, self.exclude = learning_rate, exclude

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        assignments = []
        for gradient, variable in grads_and_vars:
            if gradient is None:
                continue
            base = re.match("^(.*):\\d+$", variable.name).group(1)
            shape, zero = variable.shape.as_list(), tf.zeros_initializer()
            m = tf.get_variable(base + "/adam_m", shape, trainable=False, initializer=zero)
            v = tf.get_variable(base + "/adam_v", shape, trainable=False, initializer=zero)
            next_m = tf.multiply(0.9, m) + tf.multiply(0.1, gradient)
            next_v = tf.multiply(0.999, v) + tf.multiply(0.001, tf.square(gradient))
            update = next_m / (tf.sqrt(next_v) + 1e-6)
            if not any(re.search(part, base) for part in self.exclude):
                update += 0.01 * variable
            assignments += [
                variable.assign(variable - self.learning_rate * update),
                m.assign(next_m),
                v.assign(next_v),
            ]
        return tf.group(*assignments, name=name)


def create_train_op(loss, rate, steps, warmup, use_tpu):
    step = tf.train.get_or_create_global_step()
    decayed = tf.train.polynomial_decay(rate, step, steps, 0.0)
    warm = tf.cast(step, tf.float32) / warmup * rate
    is_warm = tf.cast(step < warmup, tf.float32)
    optimizer = AdamWeightDecayOptimizer(is_warm * warm + (1.0 - is_warm) * decayed)
    if use_tpu:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), clip_norm=1.0)
    train_op = optimizer.apply_gradients(zip(gradients, variables), global_step=step)
    return tf.group(train_op, [step.assign(step + 1)])


def encoder(ids, training):
    with tf.variable_scope("encoder"):
        table = tf.get_variable("words", [WORDS, WIDTH])
        places = tf.get_variable("places", [LENGTH, WIDTH])
        x = tf.gather(table, ids) + places
        query, key, value = (tf.layers.dense(x, WIDTH, name=n) for n in ("query", "key", "value"))
        scores = tf.matmul(query, key, transpose_b=True) / np.sqrt(WIDTH)
        weights = tf.layers.dropout(tf.nn.softmax(scores), 0.1, training=training)
        mixed = tf.layers.dense(tf.matmul(weights, value), WIDTH, name="mixed")
        return tf.contrib.layers.layer_norm(x + mixed, begin_norm_axis=-1, scope="norm"), table


def assignment_map(variables, checkpoint):
    saved = {name for name, _ in tf.train.list_variables(checkpoint)}
    names = (re.match("^(.*):\\d+$", variable.name).group(1) for variable in variables)
    return {name: name for name in names if name in saved}


def pretraining_fn(use_tpu):
    def model_fn(features, labels, mode, params):
        del labels, params
        x, table = encoder(features["masked"], mode == tf.estimator.ModeKeys.TRAIN)
        logits = tf.einsum("bld,wd->blw", x, table)
        hidden = tf.cast(tf.equal(features["masked"], MASK), tf.float32)
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=features["ids"], logits=logits)
        loss = tf.reduce_sum(each * hidden) / (tf.reduce_sum(hidden) + 1e-5)
        train_op = create_train_op(loss, 1e-2, 40, 5, use_tpu)
        return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, loss=loss, train_op=train_op)

    return model_fn


def classifier_fn(init_checkpoint, steps, use_tpu):
    def model_fn(features, labels, mode, params):
        del labels, params
        x, _ = encoder(features["ids"], mode == tf.estimator.ModeKeys.TRAIN)
        logits = tf.layers.dense(tf.reduce_max(x, axis=1), 2, name="classes")
        scaffold_fn = None
        if init_checkpoint:
            mapping = assignment_map(tf.trainable_variables(), init_checkpoint)
            assert len(mapping) == 12, mapping

            def scaffold_fn():
                tf.train.init_from_checkpoint(init_checkpoint, mapping)
                return tf.train.Scaffold()

        Spec = tf.contrib.tpu.TPUEstimatorSpec
        if mode == tf.estimator.ModeKeys.PREDICT:
            predictions = {"probabilities": tf.nn.softmax(logits)}
            return Spec(mode=mode, predictions=predictions, scaffold_fn=scaffold_fn)
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=features["label"], logits=logits
        )
        loss = tf.reduce_mean(each)
        if mode == tf.estimator.ModeKeys.TRAIN:
            train_op = create_train_op(loss, 1e-2, steps, 5, use_tpu)
            return Spec(mode=mode, loss=loss, train_op=train_op, scaffold_fn=scaffold_fn)

        def metric_fn(each, label, logits):
            guess = tf.argmax(logits, axis=-1, output_type=tf.int32)
            return {
                "eval_accuracy": tf.metrics.accuracy(label, guess),
                "eval_loss": tf.metrics.mean(each),
            }

        eval_metrics = (metric_fn, [each, features["label"], logits])
        return Spec(mode=mode, loss=loss, eval_metrics=eval_metrics, scaffold_fn=scaffold_fn)

    return model_fn


def write_sentences(path, count, seed):
    random = np.random.RandomState(seed)
    with tf.python_io.TFRecordWriter(path) as writer:
        for index in range(count):
            ids = random.randint(8, WORDS, LENGTH)
            if index % 2:
                ids[random.randint(LENGTH)] = GOOD
            masked = np.where(random.rand(LENGTH) < 0.2, MASK, ids)
            values = {"ids": ids, "masked": masked, "label": [index % 2]}
            feature = {
                name: tf.train.Feature(int64_list=tf.train.Int64List(value=value))
                for name, value in values.items()
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())


def input_fn_builder(path, is_training):
    spec = {
        "ids": tf.FixedLenFeature([LENGTH], tf.int64),
        "masked": tf.FixedLenFeature([LENGTH], tf.int64),
        "label": tf.FixedLenFeature([], tf.int64),
    }

    def decode(record):
        example = tf.parse_single_example(record, spec)
        return {name: tf.to_int32(value) for name, value in example.items()}

    def input_fn(params):
        data = tf.data.TFRecordDataset(path)
        if is_training:
            data = data.repeat().shuffle(buffer_size=100)
        return data.apply(
            tf.contrib.data.map_and_batch(
                decode, batch_size=params["batch_size"], drop_remainder=is_training
            )
        )

    return input_fn


def estimator_of(model_fn, folder, args):
    config = tf.contrib.tpu.RunConfig(
        cluster=None,
        master=None,
        model_dir=folder,
        save_checkpoints_steps=20,
        tf_random_seed=1,
        tpu_config=tf.contrib.tpu.TPUConfig(
            iterations_per_loop=1000,
            num_shards=8,
            per_host_input_for_training=tf.contrib.tpu.InputPipelineConfig.PER_HOST_V2,
        ),
    )
    return tf.contrib.tpu.TPUEstimator(
        use_tpu=args.use_tpu,
        model_fn=model_fn,
        config=config,
        train_batch_size=32,
        eval_batch_size=8,
        predict_batch_size=8,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default=".")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--use_tpu", action="store_true")
    args = parser.parse_args()
    data, held = (os.path.join(args.folder, name) for name in ("train.tfrecord", "eval.tfrecord"))
    if not os.path.exists(held):
        write_sentences(data, 400, 0)
        write_sentences(held, 100, 1)

    first = estimator_of(pretraining_fn(args.use_tpu), os.path.join(args.folder, "first"), args)
    first.train(input_fn_builder(data, True), max_steps=40)
    source = tf.train.latest_checkpoint(os.path.join(args.folder, "first"))

    model_fn = classifier_fn(source, args.steps, args.use_tpu)
    second = estimator_of(model_fn, os.path.join(args.folder, "second"), args)
    second.train(input_fn_builder(data, True), max_steps=args.steps)
    result = second.evaluate(input_fn_builder(held, False))
    predicted = list(second.predict(input_fn_builder(held, False)))
    right = np.mean([one["probabilities"].argmax() == n % 2 for n, one in enumerate(predicted)])
    assert len(predicted) == 100
    assert result["global_step"] == args.steps
    assert abs(right - result["eval_accuracy"]) < 1e-6
    assert result["eval_accuracy"] > 0.9, result
    print("fine-tuned: accuracy %.2f" % result["eval_accuracy"])


if __name__ == "__main__":
    main()
