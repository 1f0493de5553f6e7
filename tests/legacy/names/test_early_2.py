"""Programs of TensorFlow 2.0 to 2.4 find names that ended by now, and train with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import warm

_PROGRAM = """
import numpy as np
import tensorflow as tf
from tensorflow.keras.mixed_precision import experimental as precision

precision.set_policy(precision.Policy("mixed_bfloat16", loss_scale=None))
assert precision.global_policy().name == "mixed_bfloat16"
strategy = tf.distribute.MirroredStrategy(["CPU:0"])
with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(8, input_shape=(1,)), tf.keras.layers.Dense(1, dtype="float32")]
    )
    assert precision.get_layer_policy(model.layers[0]).name == "mixed_bfloat16"
    rate = tf.keras.experimental.LinearCosineDecay(0.1, 200)
    plain = tf.keras.optimizers.SGD(rate)
    optimizer = precision.LossScaleOptimizer(
        plain, loss_scale=tf.mixed_precision.experimental.FixedLossScale(128.0)
    )
x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]
data = strategy.experimental_make_numpy_dataset((x, 3 * x)).repeat().batch(16)


@tf.function
def step(x, y):
    def replica(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
            scaled = optimizer.get_scaled_loss(loss)
        grads = optimizer.get_unscaled_gradients(tape.gradient(scaled, model.trainable_variables))
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return scaled, loss

    return strategy.experimental_run_v2(replica, args=(x, y))


for count, (x, y) in enumerate(strategy.experimental_distribute_dataset(data)):
    scaled, loss = step(x, y)
    if count == 200:
        break
assert abs(float(scaled) - 128 * float(loss)) < 1e-4 * float(scaled)
assert float(loss) < 0.05, loss
for scale in (8, tf.train.experimental.DynamicLossScale(16.0), "dynamic"):
    rewritten = tf.train.experimental.enable_mixed_precision_graph_rewrite(
        tf.keras.optimizers.Adam(), loss_scale=scale
    )
    print(float(rewritten.get_scaled_loss(tf.constant(1.0))), end=" ")
tf.train.experimental.disable_mixed_precision_graph_rewrite()
try:
    precision.LossScaleOptimizer(plain, loss_scale="often")
except ValueError as error:
    print(error)
assert tf.lookup.experimental.DatasetInitializer is tf.data.experimental.DatasetInitializer
"""


@pytest.mark.slow
def test_a_program_of_2020_trains_with_old_names(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(_PROGRAM)
    done: subprocess.CompletedProcess[str] = warm.run(
        [sys.executable, "-m", "moxing", "run", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("8.0 16.0 32768.0 LossScaleOptimizer: loss_scale is 'often'; it")
