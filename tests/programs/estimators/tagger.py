"""Names in sentences: a CRF on an LSTM, averaged weights for evaluation, and an early stop."""

import functools
from pathlib import Path

import numpy as np
import tensorflow as tf

NAMES, PLACES, REST = ["ann", "bob", "eve"], ["rome", "oslo"], ["sees", "likes", "in", "and", "a"]
TAGS = ["O", "PER", "LOC"]


def write_sentences(words, tags, count, seed):
    random = np.random.RandomState(seed)
    lines = []
    for _ in range(count):
        kinds = random.randint(0, 3, random.randint(2, 7))
        pick = [(REST, NAMES, PLACES)[kind] for kind in kinds]
        lines.append(([random.choice(part) for part in pick], [TAGS[kind] for kind in kinds]))
    Path(words).write_text("".join(" ".join(line) + "\n" for line, _ in lines))
    Path(tags).write_text("".join(" ".join(line) + "\n" for _, line in lines))


def generator_fn(words, tags):
    with Path(words).open() as first, Path(tags).open() as second:
        for line, marks in zip(first, second):
            tokens = [token.encode() for token in line.split()]
            yield (tokens, len(tokens)), [mark.encode() for mark in marks.split()]


def input_fn(words, tags, repeat):
    data = tf.data.Dataset.from_generator(
        functools.partial(generator_fn, words, tags),
        output_types=((tf.string, tf.int32), tf.string),
        output_shapes=(([None], ()), [None]),
    )
    if repeat:
        data = data.shuffle(100).repeat(repeat)
    return data.padded_batch(20, (([None], ()), [None]), (("<pad>", 0), "O")).prefetch(1)


def graph_fn(words, lengths, getter=None):
    with tf.variable_scope("graph", reuse=bool(getter), custom_getter=getter):
        vocabulary = tf.contrib.lookup.index_table_from_tensor(NAMES + PLACES + REST, 2)
        table = tf.get_variable("embeddings", [12, 8])
        embedded = tf.nn.embedding_lookup(table, vocabulary.lookup(words))
        cell = tf.nn.rnn_cell.LSTMCell(8)
        output, _ = tf.nn.dynamic_rnn(cell, embedded, lengths, dtype=tf.float32)
        logits = tf.layers.dense(output, len(TAGS), name="logits")
        return logits, tf.get_variable("crf", [len(TAGS), len(TAGS)])


def model_fn(mode, features, labels, params):
    words, lengths = features
    logits, crf = graph_fn(words, lengths)
    if mode == tf.estimator.ModeKeys.TRAIN:
        tag_ids = tf.contrib.lookup.index_table_from_tensor(TAGS).lookup(labels)
        likelihood, _ = tf.contrib.crf.crf_log_likelihood(logits, tag_ids, lengths, crf)
        loss = tf.reduce_mean(-likelihood)
        train_op = tf.train.AdamOptimizer(0.02).minimize(loss, tf.train.get_or_create_global_step())
        ema = tf.train.ExponentialMovingAverage(params["decay"])
        with tf.control_dependencies([train_op]):
            train_op = ema.apply(tf.trainable_variables())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    ema = tf.train.ExponentialMovingAverage(params["decay"])
    ema.apply(tf.trainable_variables())

    def averaged(getter, name, *arguments, **keywords):
        variable = getter(name, *arguments, **keywords)
        average = ema.average(variable)
        return average if average else variable

    logits, crf = graph_fn(words, lengths, averaged)
    decoded, _ = tf.contrib.crf.crf_decode(logits, crf, lengths)
    if mode == tf.estimator.ModeKeys.PREDICT:
        named = tf.contrib.lookup.index_to_string_table_from_tensor(TAGS).lookup(
            tf.to_int64(decoded)
        )
        return tf.estimator.EstimatorSpec(mode, predictions={"tags": named})
    tag_ids = tf.contrib.lookup.index_table_from_tensor(TAGS).lookup(labels)
    likelihood, _ = tf.contrib.crf.crf_log_likelihood(logits, tag_ids, lengths, crf)
    weights = tf.sequence_mask(lengths)
    metrics = {"acc": tf.metrics.accuracy(tag_ids, decoded, weights)}
    loss = tf.reduce_mean(-likelihood)
    return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)


def main():
    for name, count, seed in (("train", 200, 0), ("held", 60, 1)):
        write_sentences(name + ".words.txt", name + ".tags.txt", count, seed)
    train, held = (
        functools.partial(input_fn, name + ".words.txt", name + ".tags.txt")
        for name in ("train", "held")
    )
    config = tf.estimator.RunConfig(save_checkpoints_steps=50, tf_random_seed=1)
    estimator = tf.estimator.Estimator(model_fn, "model", config, {"decay": 0.9})
    Path(estimator.eval_dir()).mkdir(parents=True, exist_ok=True)
    hook = tf.contrib.estimator.stop_if_no_increase_hook(
        estimator, "acc", 50, min_steps=50, run_every_secs=None, run_every_steps=5
    )
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(lambda: train(200), hooks=[hook]),
        tf.estimator.EvalSpec(lambda: held(0), steps=None, throttle_secs=0),
    )
    result = estimator.evaluate(lambda: held(0))
    assert result["acc"] > 0.95, result
    assert 100 <= result["global_step"] <= 400, result
    golds = [tags for _, tags in generator_fn("held.words.txt", "held.tags.txt")]
    given = list(estimator.predict(lambda: held(0)))
    right = [
        mark == guess
        for gold, one in zip(golds, given)
        for mark, guess in zip(gold, one["tags"][: len(gold)])
    ]
    assert abs(np.mean(right) - result["acc"]) < 1e-4


if __name__ == "__main__":
    main()
