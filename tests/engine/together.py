"""A program for the tests of clusters: trains small models, and prints what came out as JSON.

    python together.py PLAN [flags of openmox]

PLAN is JSON: {"log_dir", "batch" (in all), "shares" (devices in all), "runs": [model/optimizer],
"steps", "samples" (of the last worker; 0: endless), "seconds" (a sample of the "slow" workers),
"late" (seconds by which the last worker's session is ready after the others'), "waits" (the sample
at which each worker's input waits for ever; null: it does not), "patience" (seconds until the
process leaves a step that waits)}.
A model named m.WxD computes what W workers of D devices would, in one. What follows a dot in the
name of an optimizer tells runs of it apart.
A run model/optimizer@N ends at step N, and the next one of that name goes on from there. Those of
"unseeded" have no seed whatever the flags say.
"""

from __future__ import annotations

import functools
import json
import sys
import threading
import time
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.engine.run import beside

PLAN: dict[str, Any] = json.loads(sys.argv[1])
OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "batched": lambda: wrapped("batch_gradients", num_batches=3),
    "batched_apart": lambda: wrapped("batch_gradients", num_batches=3, sync_on_apply=False),
    "elastic": lambda: wrapped("easgd", communication_period=2, moving_rate=0.25),
    "dgc": lambda: wrapped("dgc", steps_per_epoch=4, sparsity=(0.5, 0.9), momentum=0.8),
}
SPLIT = ("workers", "devices")
random = np.random.RandomState(0)
FEATURES = random.randn(400, 8).astype(np.float32)
LABELS = (FEATURES @ random.randn(8, 3)).argmax(1)


def wrapped(name: str, **arguments: Any) -> Any:
    return mox.get_optimizer_wrapper_fn(name, OPTIMIZERS["sgd"](), **arguments)()


def workers() -> tuple[int, int]:
    hosts = mox.get_flag("worker_hosts")
    index = mox.get_flag("task_index") if mox.get_flag("job_name") == "worker" else 0
    return (len(hosts.split(",")) if hosts else 1), index


def input_fn(mode: str) -> Any:
    count, index = workers()
    data = tf.data.Dataset.from_tensor_slices((FEATURES, LABELS)).repeat().shard(count, index)
    if PLAN.get("samples") and index == count - 1:
        data = data.take(PLAN["samples"])
    if PLAN.get("waits") and PLAN["waits"][index] is not None:
        data = data.enumerate().map(lambda n, s: (tf.py_func(waiting, [n, s[0]], tf.float32), s[1]))
        data = data.map(lambda x, y: (tf.ensure_shape(x, [8]), y))
    if PLAN.get("seconds") and index in PLAN.get("slow", range(count)):
        data = data.map(lambda x, y: (tf.py_func(slowly, [x], tf.float32), y))
        data = data.map(lambda x, y: (tf.ensure_shape(x, [8]), y))
    return tf.data.make_one_shot_iterator(data).get_next()


def waiting(number: int, x: np.ndarray) -> np.ndarray:
    if number == PLAN["waits"][workers()[1]]:
        print("WAITS", flush=True)
        threading.Event().wait()
    return x


def slowly(x: np.ndarray) -> np.ndarray:
    time.sleep(PLAN["seconds"])
    return x


class Late(mox.AggregativeSessionRunHook):
    """Keeps the last worker from its first step for a while."""

    def after_create_session(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        count, index = workers()
        if index == count - 1:
            time.sleep(PLAN["late"])


def dense(x: Any, units: int, seed: int, **others: Any) -> Any:
    start = tf.glorot_uniform_initializer(seed=seed)
    return tf.layers.dense(x, units, kernel_initializer=start, **others)


def classifier(inputs: Any, mode: str) -> Any:
    x, y = inputs
    hidden = dense(x, 16, 1, activation=tf.nn.relu)
    logits = dense(hidden, 3, 2, kernel_regularizer=lambda w: 0.001 * tf.nn.l2_loss(w))
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    loss += tf.add_n(mox.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    hooks = [Late()] if "late" in PLAN else None
    return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=hooks)


def normalized(inputs: Any, mode: str, workers: int = 1, devices: int = 1) -> Any:
    """A network with batch norm; where asked, of the shares that devices elsewhere would have."""
    x, y = inputs
    size = PLAN["batch"] // PLAN["shares"] // (workers * devices)
    losses, updates = [], tf.get_collection_ref(tf.GraphKeys.UPDATE_OPS)
    for worker in range(workers):
        for device in range(devices):
            part = slice(device * size, (device + 1) * size)
            with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
                hidden = dense(x[worker::workers][part], 16, 1, name="hidden")
                hidden = tf.layers.batch_normalization(hidden, training=True, name="norm")
                logits = dense(tf.nn.relu(hidden), 3, 2, name="logits")
            labels = y[worker::workers][part]
            losses.append(tf.losses.sparse_softmax_cross_entropy(labels, logits))
            if len(losses) == 1:
                of_first = list(updates)
    updates[:] = of_first  # Moving averages are those of the first device.
    loss = tf.add_n(losses) / len(losses)
    return mox.ModelSpec(loss=loss, log_info={"loss": loss})


def two_losses(inputs: Any, mode: str) -> Any:
    """Two networks that pull in opposite directions, each with its own optimizer."""
    x, _ = inputs
    with tf.variable_scope("maker"):
        made = dense(x, 8, 1)
    with tf.variable_scope("judge"):
        judged = dense(tf.concat([made, x], 0), 1, 2)
    half = tf.shape(x)[0]
    fooled = tf.reduce_mean(tf.nn.softplus(-judged[:half]))
    found = tf.reduce_mean(tf.nn.softplus(judged[:half]) + tf.nn.softplus(-judged[half:]))
    return mox.ModelSpec(
        loss=[fooled, found], var_scopes=[["maker"], ["judge"]], log_info={"fooled": fooled}
    )


def slopes(inputs: Any, mode: str) -> Any:
    """A loss whose gradients are known from the data alone."""
    mean = tf.reduce_mean(inputs[0], 0)
    matrix = tf.get_variable("matrix", [8, 5], initializer=tf.zeros_initializer()).read_value()
    vector = tf.get_variable("vector", [8], initializer=tf.zeros_initializer()).read_value()
    factors = tf.constant([1.0, -2.0, 0.5, 3.0, 0.25])
    loss = tf.reduce_sum(matrix * mean[:, None] * factors) + tf.reduce_sum(vector * mean)
    # The update waits for the values that are seen.
    loss += 1e-30 * (tf.nn.l2_loss(matrix) + tf.nn.l2_loss(vector))
    seen = {"matrix": matrix, "vector": vector}
    return mox.ModelSpec(loss=loss, log_info={"loss": loss}, output_info=seen)


def noise(inputs: Any, mode: str) -> Any:
    """Random numbers of every kind, beside a variable that starts with some."""
    weights = tf.get_variable("w", [2], initializer=tf.random_normal_initializer())
    always = tf.reduce_sum(inputs[0]) < 1e9
    drawn = [
        tf.random_uniform([3]),
        1.0 / tf.nn.dropout(tf.ones([30]), rate=0.5),
        tf.random_uniform([3], seed=5),
        tf.cond(always, lambda: tf.random_uniform([3]), lambda: tf.zeros([3])),
        tf.cast(tf.random_shuffle(tf.range(100))[:3], tf.float32),
    ]
    info = {f"drawn_{index}": values + 0.0 for index, values in enumerate(drawn)}
    loss = tf.reduce_sum(weights * drawn[0][0])
    return mox.ModelSpec(loss=loss, log_info={"loss": loss}, output_info={**info, "w": weights})


def main() -> None:
    models = {"classifier": classifier, "two_losses": two_losses, "noise": noise}
    models |= {"slopes": slopes, "normalized": normalized}
    seed = mox.get_flag("seed")
    if "patience" in PLAN:
        beside.PATIENCE_TOGETHER = beside.PATIENCE_UNSAFE = PLAN["patience"]
    for entry in PLAN["runs"]:
        run, _, limit = entry.partition("@")
        model, optimizer = run.split("/")
        model, _, shares = model.partition(".")
        optimizer = optimizer.partition(".")[0]
        split = [int(count) for count in shares.split("x")] if shares else []
        mox.set_flag("seed", None if run in PLAN.get("unseeded", ()) else seed)
        outputs: list[Any] = []
        given = {"output_fn": outputs.extend, "output_every_n_steps": 1}
        given = given if model in ("noise", "slopes") else {}
        result = mox.run(
            input_fn=input_fn,
            model_fn=functools.partial(models[model], **dict(zip(SPLIT, split, strict=False))),
            optimizer_fn=OPTIMIZERS[optimizer],
            run_mode=mox.ModeKeys.TRAIN,
            batch_size=PLAN["batch"] // PLAN["shares"],
            log_dir=f"{PLAN['log_dir']}/{run}",
            max_number_of_steps=int(limit or PLAN["steps"]),
            log_every_n_steps=PLAN.get("log_every", 10),
            save_model_steps=PLAN.get("save_steps", 1_000_000),
            **given,
        )
        shown = [{name: values.tolist() for name, values in one.items()} for one in outputs]
        told = {"run": run, "global_step": result.global_step}
        print(json.dumps({**told, "outputs": shown} if given else told), flush=True)


main()
