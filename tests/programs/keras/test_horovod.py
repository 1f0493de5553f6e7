"""Programs of Horovod: equal weights in all processes, and equal to one with the whole batch."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import warm

_HERE = Path(__file__).parent

pytestmark = pytest.mark.slow


def _launch(folder: Path, script: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "moxing", "launch", "--workers=2", *flags, str(script)],
        cwd=folder,
        env={**warm.forking(), "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("name", ["horovod_graph.py", "horovod_eager.py", "horovod_fit.py"])
def test_two_processes_train_as_one(tmp_path: Path, name: str) -> None:
    result = _launch(tmp_path, _HERE / name)

    assert result.returncode == 0, result.stdout + result.stderr
    for rank in range(2):
        assert f"equal {rank} 2" in result.stdout + result.stderr


def test_keras_3_too(tmp_path: Path) -> None:
    text = (_HERE / "horovod_fit.py").read_text() + "assert keras.ops.shape(X) == (64, 4)\n"
    (tmp_path / "train.py").write_text(text)

    result = subprocess.run(  # What was forked would have imported another Keras.
        [sys.executable, "-m", "moxing", "launch", "--workers=2", str(tmp_path / "train.py")],
        cwd=tmp_path,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
        timeout=400,
    )

    assert result.returncode == 0, result.stdout + result.stderr
    assert "equal 1 2 Keras 3" in result.stdout + result.stderr


def test_a_process_that_is_killed_ends_the_others(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os, signal, sys\n"
        "import horovod.tensorflow as hvd\n"
        "import tensorflow as tf\n"
        "tf.random.set_seed(1)\n"
        "hvd.init()\n"
        "for step in range(5):\n"
        "  if step == 3 and hvd.rank() == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "  hvd.allreduce(tf.ones([3]))\n"
    )

    result = _launch(tmp_path, tmp_path / "train.py", "--grace=3")

    assert result.returncode != 0
    assert f"worker 1 failed first: killed by {signal.SIGKILL.name}" in result.stderr, result.stderr


def test_an_error_of_one_process_ends_the_others_and_the_job(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import horovod.tensorflow as hvd\n"
        "import tensorflow as tf\n"
        "tf.random.set_seed(1)\n"
        "hvd.init()\n"
        "hvd.allreduce(tf.ones([3]))\n"
        "if hvd.rank() == 0: raise ValueError('a wrong batch')\n"
        "hvd.allreduce(tf.ones([3]))\n"
    )

    result = _launch(tmp_path, tmp_path / "train.py")

    assert result.returncode == 1, result.stderr
    assert "worker 0 failed first: code 1" in result.stderr, result.stderr
    assert "restart" not in result.stderr
    said = result.stdout + result.stderr
    assert "worker 0 (127.0.0.1:" in said
    assert "failed: ValueError: a wrong batch" in said


def test_a_loss_in_the_middle_of_a_graph_starts_all_again(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os, signal\n"
        "import horovod.tensorflow as hvd\n"
        "import tensorflow as tf\n"
        "hvd.init()\n"
        "loss = tf.square(tf.get_variable('w', [], initializer=tf.ones_initializer()))\n"
        "step = tf.train.get_or_create_global_step()\n"
        "optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.1))\n"
        "train = optimizer.minimize(loss, step)\n"
        "hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=8)]\n"
        "folder = 'model' if hvd.rank() == 0 else None\n"
        "first = not os.path.exists('killed')\n"
        "with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks,\n"
        "                                       save_checkpoint_steps=2) as session:\n"
        "  while not session.should_stop():\n"
        "    _, at = session.run([train, step])\n"
        "    if first and hvd.rank() == 0 and os.path.exists('model/model.ckpt-4.index'):\n"
        "      open('killed', 'w').close()\n"
        "      os.kill(os.getpid(), signal.SIGTERM)\n"
        "print('ended', hvd.rank(), first)\n"
    )

    result = _launch(tmp_path, tmp_path / "train.py")

    said = result.stdout + result.stderr
    assert result.returncode == 0, said[-5000:]
    assert re.search(r"mox: error: worker 0 \(.+\) died: connection lost", said)
    assert "restart 1 of 3" in said
    assert "restart 2 of 3" not in said
    assert "ended 1 False" in said
