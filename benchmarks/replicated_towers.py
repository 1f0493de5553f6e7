"""A step on two logical devices, a copy of the variables each: `mox.run` and hand-written towers.

Contestants, in processes of their own, taking turns:

- mox.run: `--num_gpus=2 --variable_update=replicated`,
- towers: the same model in a bare session, as programs of TensorFlow 1.x write it: a variable scope
  and an optimizer a tower, the mean of what their `compute_gradients` give, one `make_callable`.

Both read one element a device and step from memory, and print the loss every tenth step.

    python benchmarks/replicated_towers.py [--nets mlp,conv] [--rounds N] [--steps N]
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import sys
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

import numpy as np
import rounds

DEVICES, BATCH = 2, 64
RATE, MOMENTUM = 0.01, 0.9
LOGGED = 10
STEPS = {"mlp": 300, "conv": 60}


def input_fn(mode: str) -> Any:
    import tensorflow.compat.v1 as tf

    chance = np.random.default_rng(0)
    images = chance.random((50 * BATCH, 28, 28, 1), np.float32)
    labels = chance.integers(0, 10, 50 * BATCH)
    batches = tf.data.Dataset.from_tensor_slices((images, labels)).batch(BATCH, drop_remainder=True)
    return tf.data.make_one_shot_iterator(batches.repeat().prefetch(2)).get_next()


def mlp(images: Any) -> Any:
    import tensorflow.compat.v1 as tf

    x = tf.reshape(images, [BATCH, 784])
    for units in (512, 256):
        x = tf.layers.dense(x, units, activation=tf.nn.relu)
    return tf.layers.dense(x, 10)


def conv(images: Any) -> Any:
    import tensorflow.compat.v1 as tf

    x = images
    for filters in (16, 32):
        x = tf.layers.conv2d(x, filters, 3, padding="same", use_bias=False)
        x = tf.layers.batch_normalization(x, training=True)
        x = tf.layers.max_pooling2d(tf.nn.relu(x), 2, 2)
    return tf.layers.dense(tf.layers.flatten(x), 10)


NETS: dict[str, Callable[[Any], Any]] = {"mlp": mlp, "conv": conv}


def loss_of(net: str, images: Any, labels: Any) -> Any:
    import tensorflow.compat.v1 as tf

    logits = NETS[net](images)
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(each)


def mox_run(net: str, turns: rounds.Turns) -> None:
    import moxing.tensorflow as mox

    def model_fn(inputs: Any, mode: str) -> Any:
        loss = loss_of(net, *inputs)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    class Ticks(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("step: "):
                turns.tick()

    logging.getLogger("tensorflow").addHandler(Ticks())
    mox.set_flag("num_gpus", DEVICES)
    mox.set_flag("variable_update", "replicated")
    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("momentum", learning_rate=RATE, momentum=MOMENTUM),
        run_mode=mox.ModeKeys.TRAIN,
        log_every_n_steps=LOGGED,
        max_number_of_steps=sys.maxsize,
    )


def towers(net: str, turns: rounds.Turns) -> None:
    import tensorflow.compat.v1 as tf

    tf.enable_resource_variables()
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            step_number = tf.train.get_or_create_global_step()
            batches = input_fn("TRAIN"), input_fn("TRAIN")
        losses, optimizers, gradients, updates = [], [], [], []
        for index, batch in enumerate(batches):
            with tf.device(f"/cpu:{index}"), tf.variable_scope(f"tower_{index}") as scope:
                losses.append(loss_of(net, *batch))
                optimizers.append(tf.train.MomentumOptimizer(RATE, MOMENTUM))
                own = tf.trainable_variables(scope.name)
                gradients.append(optimizers[-1].compute_gradients(losses[-1], own))
                updates += tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope.name)
        applied = []
        with tf.device("/cpu:0"):
            means = [
                tf.add_n([gradient for gradient, _ in pairs]) / DEVICES
                for pairs in zip(*gradients, strict=True)
            ]
        with tf.control_dependencies(updates):
            for index, pairs in enumerate(gradients):
                with tf.device(f"/cpu:{index}"):
                    moved = zip(means, (variable for _, variable in pairs), strict=True)
                    number = step_number if index == 0 else None
                    applied.append(optimizers[index].apply_gradients(moved, number))
        train = tf.group(*applied)
        initialize = tf.global_variables_initializer()
    config = tf.ConfigProto(device_count={"CPU": DEVICES}, allow_soft_placement=True)
    with tf.Session(graph=graph, config=config) as session:
        session.run(initialize)
        step, last = session.make_callable(train), session.make_callable([losses[0], train])
        while True:
            for _ in range(LOGGED - 1):
                step()
            print(f"loss: {last()[0]:.3f}", file=sys.stderr)
            turns.tick()


CONTESTANTS: dict[str, Callable[[str, rounds.Turns], None]] = {"mox.run": mox_run, "towers": towers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nets", default="mlp,conv")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=0, help="a round; 0: as suits the net")
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestant:
        net = arguments.nets
        CONTESTANTS[arguments.contestant](
            net, rounds.Turns((arguments.steps or STEPS[net]) // LOGGED)
        )
    for net in arguments.nets.split(","):
        own = ("--nets", net, "--steps", str(arguments.steps))
        playing = [
            rounds.Contestant(name, [sys.executable, __file__, "--contestant", name, *own], {})
            for name in CONTESTANTS
        ]
        load = rounds.compete(playing, arguments.rounds)
        report(net, playing, load)
        for contestant in playing:
            contestant.close()


def report(net: str, playing: list[rounds.Contestant], load: str) -> None:
    ours, theirs = playing
    print(f"{net}, {DEVICES} devices, batch {BATCH} each, {len(ours.rounds)} rounds, {load}")
    for contestant in playing:
        wall, cpu = (contestant.median(key) * 1e3 / LOGGED for key in ("wall", "cpu"))
        print(f"  {contestant.name:8} {wall:8.3f} ms a step, {cpu:8.3f} ms of CPU time")
    for key in ("wall", "cpu"):
        each = [b[key] / a[key] for a, b in zip(ours.rounds, theirs.rounds, strict=True)]
        print(f"  speed of mox.run, by {key} time: {statistics.median(each):.3f} of the towers'")


if __name__ == "__main__":
    main()
