"""Killed at any moment, a run goes on from its last commit and ends as if nothing had happened."""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.newest import newest

sys.path.insert(0, str(Path(__file__).parent))
from zygote import Child, Zygote  # noqa: E402

KILLS = 20
EVERY = 50

# The weight grows by exactly 1 a step, so that it tells the number of updates made. After every
# step the program writes the global step into a file, which is what a kill can make it lose.
TRAIN = """
import os, sys
import moxing.tensorflow as mox
import tensorflow.compat.v1 as tf

log_dir, told, last = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY), int(sys.argv[3])

class Tell(mox.AggregativeSessionRunHook):
    def begin(self):
        self.step = tf.train.get_global_step()

    def before_run(self, context):
        return tf.train.SessionRunArgs(self.update)

    def after_run(self, context, values):
        os.pwrite(told, b"%012d" % values.results, 0)

def input_fn(mode):
    return tf.data.Dataset.from_tensors(1.0).repeat()

def model_fn(inputs, mode):
    weight = tf.get_variable("w", [], tf.float64, initializer=tf.zeros_initializer())
    hook = Tell()
    hook.update = tf.train.get_or_create_global_step() + 1
    loss = tf.reduce_mean(inputs[0]) * -tf.cast(weight, tf.float32)
    return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[hook])

mox.run(input_fn=input_fn, model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=1.0),
        run_mode=mox.ModeKeys.TRAIN, log_dir=log_dir, save_model_steps=50,
        log_every_n_steps=1000, max_number_of_steps=last)
"""


@pytest.mark.slow
def test_twenty_kills_lose_no_more_than_the_steps_between_saves(
    zygote: Zygote, tmp_path: Path
) -> None:
    chance = random.Random(2)
    log_dir, told = tmp_path / "run", tmp_path / "told"
    told.write_text("0")
    trained = []
    for number in range(KILLS):
        done = int(told.read_text())
        child = zygote.start(TRAIN, tmp_path / f"output{number}", log_dir, told, 10**9)
        _kill(child, told, done, chance)
        found = newest(log_dir) if log_dir.exists() else None
        reached = int(told.read_text())
        trained.append(reached - done)
        _check(found, reached, started_from=_restored(child, log_dir))
    assert sum(steps > 0 for steps in trained) >= KILLS / 2  # Else the kills came too early.
    last = int(told.read_text()) + 3 * EVERY
    child = zygote.start(TRAIN, tmp_path / "output", log_dir, told, last)
    assert child.code() == 0, child.text
    final = newest(log_dir)
    assert final is not None
    assert final.step == last
    assert int(told.read_text()) == last
    _check(final, last, started_from=_restored(child, log_dir))
    assert len(list(log_dir.glob(".mox-tmp-*"))) == 0


def _kill(child: Child, told: Path, done: int, chance: random.Random) -> None:
    """Kills the process while it builds its graph, or some time after a step that is new."""
    if chance.random() < 0.2:
        time.sleep(chance.random() * 0.5)
    else:
        until = time.monotonic() + 120
        while int(told.read_text()) <= done:
            assert time.monotonic() < until, child.text
            time.sleep(0.002)
        time.sleep(chance.random() * 0.6)
    child.send(signal.SIGKILL)
    assert child.code() == -signal.SIGKILL, child.text


def _restored(child: Child, log_dir: Path) -> int:
    """The step that a run started from."""
    prefix = f"Restoring parameters from {log_dir}/model.ckpt-"
    lines = [line for line in child.text.splitlines() if prefix in line]
    return int(lines[0].rsplit("-", 1)[1]) if lines else 0


def _check(found: Checkpoint | None, reached: int, started_from: int) -> None:
    """The newest checkpoint is whole, true, and not further back than one interval."""
    if found is None:
        assert reached == 0
        return
    assert found.step is not None
    assert started_from <= found.step
    assert reached - EVERY <= found.step <= reached + 1
    reader = tf.train.load_checkpoint(found.prefix)
    assert reader.get_tensor("w") == reader.get_tensor("global_step") == found.step
