"""Estimators beside plain programs of TensorFlow 1.x: BERT's fine-tuning, and a LinearClassifier.

Contestants, in processes of their own, taking turns:

- bert: a train step of BERT-base's width (768, 12 heads, 30,522 words) with two layers, 8 texts of
  64 tokens, Adam with decay that applies its gradients itself: a `TPUEstimator` with
  `use_tpu=False`, beside the same model and data in a session of `tf.compat.v1`;
- linear: `LinearClassifier` on 100,000 rows of 30 columns, 128 rows a step, Ftrl, beside two graphs
  written by hand: one of a weight for each column, as the canned model has, and one of a matrix of
  all columns.

    python benchmarks/estimators.py [--rounds N] [--only bert linear]

Compare CPU time where others use the machine.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

import numpy as np
import rounds

# Texts, tokens of each, words, width, heads, layers.
TEXTS, LENGTH, WORDS, WIDTH, HEADS, LAYERS = 8, 64, 30522, 768, 12, 2
ROWS, COLUMNS, BATCH = 100_000, 30, 128
STEPS = {"bert": 3, "linear": 200}
CONTESTANTS = {
    "bert": {"ours": "TPUEstimator", "session": "tf.compat.v1 session"},
    "linear": {
        "ours": "LinearClassifier",
        "session": "by hand, a weight a column",
        "matrix": "by hand, one matrix",
    },
}
NAMES = [f"c{index:02d}" for index in range(COLUMNS)]


def encoder(words: Any, training: bool) -> Any:
    """The vector of each text's first token, [texts, width]."""
    import tensorflow.compat.v1 as tf

    initial = tf.truncated_normal_initializer(stddev=0.02)

    def dense(x: Any, units: int, name: str, activation: Any = None) -> Any:
        return tf.layers.dense(x, units, activation, kernel_initializer=initial, name=name)

    def norm(x: Any, name: str) -> Any:
        with tf.variable_scope(name):
            scale = tf.get_variable("gamma", [WIDTH], initializer=tf.ones_initializer())
            shift = tf.get_variable("beta", [WIDTH], initializer=tf.zeros_initializer())
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, shift, scale, 1e-12)

    def gelu(x: Any) -> Any:
        return 0.5 * x * (1.0 + tf.tanh(0.7978845608 * (x + 0.044715 * x**3)))

    def drop(x: Any) -> Any:
        return tf.nn.dropout(x, rate=0.1) if training else x

    def heads(x: Any, name: str) -> Any:
        made = tf.reshape(dense(x, WIDTH, name), [TEXTS, LENGTH, HEADS, WIDTH // HEADS])
        return tf.transpose(made, [0, 2, 1, 3])

    table = tf.get_variable("words", [WORDS, WIDTH], initializer=initial)
    places = tf.get_variable("places", [LENGTH, WIDTH], initializer=initial)
    x = tf.reshape(tf.gather(table, words) + places, [-1, WIDTH])
    x = drop(norm(x, "norm"))
    for index in range(LAYERS):
        with tf.variable_scope(f"layer{index}"):
            query, key, value = (heads(x, part) for part in ("query", "key", "value"))
            scores = tf.matmul(query, key, transpose_b=True) * (WIDTH / HEADS) ** -0.5
            mixed = tf.matmul(drop(tf.nn.softmax(scores)), value)
            mixed = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [-1, WIDTH])
            x = norm(x + drop(dense(mixed, WIDTH, "mixed")), "norm1")
            wide = dense(x, 4 * WIDTH, "wide", gelu)
            x = norm(x + drop(dense(wide, WIDTH, "narrow")), "norm2")
    first = tf.reshape(x, [TEXTS, LENGTH, WIDTH])[:, 0]
    return dense(first, WIDTH, "pooled", tf.tanh)


def decaying_adam(loss: Any) -> Any:
    """The update of BERT's own optimizer."""
    import tensorflow.compat.v1 as tf

    class DecayingAdam(tf.train.Optimizer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(False, "DecayingAdam")

        def apply_gradients(self, pairs: Any, global_step: Any = None, name: Any = None) -> Any:
            return tf.group(*(change for pair in pairs for change in self._changes(*pair)))

        def _changes(self, gradient: Any, variable: Any) -> list[Any]:
            gradient = tf.convert_to_tensor(gradient)  # Of the words' table: slices.
            base, zeros = re.sub(r":\d+$", "", variable.name), tf.zeros_initializer()
            m, v = (
                tf.get_variable(
                    f"{base}/{slot}", variable.shape, trainable=False, initializer=zeros
                )
                for slot in ("adam_m", "adam_v")
            )
            next_m = 0.9 * m + 0.1 * gradient
            next_v = 0.999 * v + 0.001 * tf.square(gradient)
            change = next_m / (tf.sqrt(next_v) + 1e-6) + 0.01 * variable
            return [variable.assign(variable - 1e-5 * change), m.assign(next_m), v.assign(next_v)]

    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), clip_norm=1.0)
    step = tf.train.get_or_create_global_step()
    train = DecayingAdam().apply_gradients(zip(gradients, variables, strict=True), step)
    return tf.group(train, [step.assign(step + 1)])


def bert_loss(features: Any, training: bool) -> Any:
    import tensorflow.compat.v1 as tf

    logits = tf.layers.dense(encoder(features["words"], training), 2, name="classes")
    return tf.losses.sparse_softmax_cross_entropy(features["label"], logits)


def bert_input(params: dict[str, Any]) -> Any:
    import tensorflow.compat.v1 as tf

    chance = np.random.default_rng(0)
    data = {
        "words": chance.integers(0, WORDS, (64, LENGTH)).astype(np.int32),
        "label": chance.integers(0, 2, 64).astype(np.int32),
    }
    dataset = tf.data.Dataset.from_tensor_slices(data).repeat().shuffle(buffer_size=100)
    return dataset.batch(params["batch_size"], drop_remainder=True)


def columns() -> tuple[dict[str, np.ndarray], np.ndarray]:
    chance = np.random.default_rng(0)
    rows = chance.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    labels = (rows @ chance.normal(size=COLUMNS) > 0).astype(np.int32)
    return {name: rows[:, index] for index, name in enumerate(NAMES)}, labels


def linear_input() -> Any:
    import tensorflow.compat.v1 as tf

    return tf.data.Dataset.from_tensor_slices(columns()).repeat().batch(BATCH)


def linear_loss(features: Any, labels: Any, matrix: bool) -> Any:
    import tensorflow.compat.v1 as tf

    zeros = tf.zeros_initializer()
    if matrix:
        rows = tf.stack([features[name] for name in NAMES], axis=1)
        logits = tf.matmul(rows, tf.get_variable("weights", [COLUMNS, 1], initializer=zeros))
    else:
        logits = tf.add_n([
            tf.matmul(tf.expand_dims(features[name], 1),
                      tf.get_variable(name, [1, 1], initializer=zeros))
            for name in NAMES
        ])  # fmt: skip
    logits += tf.get_variable("bias", [1], initializer=zeros)
    wanted = tf.expand_dims(tf.cast(labels, tf.float32), 1)
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=wanted, logits=logits)
    return tf.reduce_mean(losses)


def ours(network: str, turns: rounds.Turns, folder: str) -> None:
    import tensorflow.compat.v1 as tf

    import moxing.estimator as tfe

    class Ticks(tf.train.SessionRunHook):  # type: ignore[misc]
        def after_run(self, run_context: Any, run_values: Any) -> None:
            turns.tick()

    # No checkpoint and no summary falls into a round.
    rare: Any = {"save_checkpoints_steps": 10**8, "save_summary_steps": 10**8,
            "log_step_count_steps": 1000}  # fmt: skip
    if network == "linear":
        numbers = [tf.feature_column.numeric_column(name) for name in NAMES]
        config = tfe.RunConfig(model_dir=folder, **rare)
        tfe.LinearClassifier(numbers, config=config).train(linear_input, hooks=[Ticks()])
        return

    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        del labels, params
        loss = bert_loss(features, mode == tfe.ModeKeys.TRAIN)
        return tfe.tpu.TPUEstimatorSpec(mode=mode, loss=loss, train_op=decaying_adam(loss))

    del rare["log_step_count_steps"]
    config = tfe.tpu.RunConfig(model_dir=folder, **rare)
    tfe.tpu.TPUEstimator(
        model_fn, config=config, use_tpu=False, train_batch_size=TEXTS
    ).train(bert_input, hooks=[Ticks()])  # fmt: skip


def theirs(network: str, kind: str) -> Callable[[], Any]:
    """A step of a program of TensorFlow 1.x that needs nothing else."""
    import tensorflow.compat.v1 as tf

    with tf.Graph().as_default() as graph:
        if network == "bert":
            dataset = bert_input({"batch_size": TEXTS}).prefetch(1)
            loss = bert_loss(tf.data.make_one_shot_iterator(dataset).get_next(), True)
            step = decaying_adam(loss)
        else:
            iterator = tf.data.make_initializable_iterator(linear_input().prefetch(1))
            tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
            loss = linear_loss(*iterator.get_next(), matrix=kind == "matrix")
            rate = min(0.2, COLUMNS**-0.5)  # As LinearClassifier chooses.
            step = tf.train.FtrlOptimizer(rate).minimize(loss, tf.train.create_global_step())
        initialize = [tf.global_variables_initializer(), tf.tables_initializer()]
    session = tf.Session(graph=graph)
    session.run(initialize)
    return session.make_callable([step, loss])


def contest(network: str, kind: str) -> None:
    turns = rounds.Turns(STEPS[network])
    if kind == "ours":
        with tempfile.TemporaryDirectory() as folder:
            ours(network, turns, folder)
    else:
        import tensorflow.compat.v1 as tf

        tf.disable_eager_execution()
        step = theirs(network, kind)
        while True:
            step()
            turns.tick()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="*", default=list(CONTESTANTS), choices=CONTESTANTS)
    parser.add_argument("--contestant", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestant:
        contest(*arguments.contestant.split("/"))
    for network in arguments.only:
        names = [f"{network}/{kind}" for kind in CONTESTANTS[network]]
        playing = [
            rounds.Contestant(name, (sys.executable, __file__, "--contestant", name), {})
            for name in names
        ]
        load = rounds.compete(playing, arguments.rounds)
        print(f"{network}, median of {arguments.rounds} rounds, {load}")
        base = playing[1]
        for contestant, shown in zip(playing, CONTESTANTS[network].values(), strict=True):
            (wall, slower), (cpu, dearer) = (
                (contestant.median(key) * 1e3, contestant.median(key) / base.median(key))
                for key in ("wall", "cpu")
            )
            print(
                f"  {shown:26s} {wall:8.3f} ms a step ({slower:.3f} x)   {cpu:8.3f} ms of CPU"
                f" ({dearer:.3f} x)"
            )
        for contestant in playing:
            contestant.close()


if __name__ == "__main__":
    main()
