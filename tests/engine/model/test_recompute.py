"""Recomputation: less memory, the same gradients."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import warm

from moxing.engine.model import recompute

_DEEP = """
import resource, sys
import moxing.tensorflow as mox
import tensorflow.compat.v1 as tf

def input_fn(mode):
    return tf.data.Dataset.from_tensors(tf.ones([16384, 128])).repeat()

def model_fn(inputs, mode):
    x = inputs[0]
    for layer in range(32):
        w = tf.get_variable(f"w{layer}", [128, 128], initializer=tf.initializers.orthogonal(0.5))
        x = x + 0.1 * tf.nn.relu(tf.matmul(x, w))
    loss = tf.reduce_mean(tf.square(x))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss})

def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

before = megabytes()
result = mox.run(input_fn=input_fn, model_fn=model_fn,
                 optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.01),
                 run_mode="TRAIN", max_number_of_steps=3, log_every_n_steps=1)
print("MEMORY", megabytes() - before)
"""


def _layers(x: tf.Tensor, count: int, masked: bool = False) -> tf.Tensor:
    mask = tf.cast(x > 0, tf.float32)
    for layer in range(count):
        kernel = tf.get_variable(f"kernel{layer}", [8, 8])
        x = x + tf.nn.tanh(tf.matmul(x * mask if masked else x, kernel))
    return x


def _marked(graph: tf.Graph) -> set[str]:
    return {op.name for op in graph.get_operations() if recompute._HINT in op.node_def.attr}


@pytest.mark.slow
def test_a_deep_network_takes_less_memory_and_logs_the_same_losses(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_DEEP)
    results: list[subprocess.CompletedProcess[str]] = [
        warm.run(
            [sys.executable, "train.py", "--seed=1", *flags],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        for flags in ([], ["--recompute"])
    ]

    memory, losses = [], []
    for result in results:
        assert result.returncode == 0, result.stdout
        memory.append(int(result.stdout.split("MEMORY")[1]))
        losses.append(
            [line.split("loss: ")[1] for line in result.stdout.split("\n") if "loss: " in line]
        )
    assert len(losses[0]) == 3
    assert losses[0] == losses[1]
    # 32 layers of three tensors of 8 MB each, of which a sixth has to be kept at once.
    assert memory[1] < 0.7 * memory[0]
    assert "activations again" in results[1].stdout


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_equal(masked: bool) -> None:
    found = []
    for marks in (False, True):
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(1)
            x = tf.placeholder(tf.float32, [16, 8])
            dropped = tf.nn.dropout(_layers(x, 12, masked), rate=0.5, seed=3)
            loss = tf.reduce_sum(tf.square(dropped))
            gradients = tf.gradients(loss, [*tf.trainable_variables(), x])
            config = tf.ConfigProto()
            if marks:
                recompute.mark([loss], [x.op])
                recompute.configure(config)
                assert len(_marked(graph)) > 24
            with tf.Session(config=config) as session:
                session.run(tf.global_variables_initializer())
                given = np.linspace(-1, 1, 128, dtype=np.float32).reshape(16, 8)
                found.append(session.run(gradients, {x: given}))

    for plain, again in zip(*found, strict=True):
        np.testing.assert_array_equal(plain, again)


def test_what_differs_each_time_or_has_no_part_in_the_loss_is_kept() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [16, 8], "x")
        noise = tf.random.uniform(tf.shape(x), name="noise")
        noisy = tf.add(_layers(x, 6), noise, "noisy")
        counted = tf.py_func(lambda value: value, [noisy], tf.float32, name="counted")
        counted.set_shape([16, 8])
        tf.multiply(x, 2.0, "aside")
        loss = tf.reduce_mean(counted * 2)
        recompute.mark([loss], [x.op])
        marked = _marked(graph)

    assert "noisy" in marked
    assert not {"x", "aside", "counted"} & marked
    assert not [name for name in marked if name.startswith(("noise/", "kernel"))]


def test_cuts_are_where_little_is_handed_on() -> None:
    """Each block widens its input in its middle, so a cut there would keep four times as much."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [64, 8])
        y = x
        for layer in range(16):
            wide = tf.nn.relu(tf.matmul(y, tf.get_variable(f"wide{layer}", [8, 32])))
            y = tf.add(y, tf.matmul(wide, tf.get_variable(f"narrow{layer}", [32, 8])), f"y{layer}")
        activations = recompute._activations([tf.reduce_mean(y)], [x.op])
        cuts = recompute._cuts(activations)

    assert len(cuts) >= 2
    assert {recompute._crossing(activations)[cut] for cut in cuts} == {64 * 8 * 4}
    assert recompute._peak(activations, cuts) < 0.4 * recompute._peak(activations, [])
