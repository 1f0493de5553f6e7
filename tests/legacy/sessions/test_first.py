"""The first session of a program of TensorFlow 1.x under `mox run`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
{first}
import tensorflow as tf

tf.flags.DEFINE_float("learning_rate", 0.1, "")
tf.flags.DEFINE_string("train_dir", "out", "")
{more}
FLAGS = tf.flags.FLAGS


def main(_):
    step = tf.train.get_or_create_global_step()
    work = tf.assign_add(step, 1)
    {train}
    print("trained", FLAGS.learning_rate)


tf.app.run()
"""
MONITORED = """
    with tf.train.MonitoredTrainingSession(checkpoint_dir=FLAGS.train_dir) as session:
        session.run(work)
"""
SUPERVISOR = """
    with tf.train.Supervisor(logdir=FLAGS.train_dir).managed_session() as session:
        session.run(work)
"""
PLAIN = """
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(work)
"""


def _ran(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    import warm

    (folder / "train.py").write_text(text)
    command = [sys.executable, "-m", "moxing", "run", "train.py", *arguments]
    return warm.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize("train", [MONITORED, PLAIN], ids=["monitored", "plain"])
def test_a_typo_trains_nothing_though_main_could_parse_arguments(
    train: str, tmp_path: Path
) -> None:
    text = PROGRAM.format(first="import argparse", more="", train=train)
    done = _ran(tmp_path, text, "--learning_rat=0.2")
    assert done.returncode == 1
    assert "flag --learning_rat is not defined. Did you mean --learning_rate?" in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("train", "name"),
    [(MONITORED, "a session of tf.train"), (SUPERVISOR, "tf.train.Supervisor")],
    ids=["monitored", "supervisor"],
)
def test_a_dry_run_of_a_training_of_its_own_is_refused(
    train: str, name: str, tmp_path: Path
) -> None:
    done = _ran(tmp_path, PROGRAM.format(first="", more="", train=train), "--dry_run")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"This program trains in {name}" in done.stderr
    assert "nothing was trained" in done.stderr
    assert done.stderr.count("--dry_run is for") == 0


@pytest.mark.slow
def test_a_dry_run_of_a_plain_session_is_told_before_its_steps(tmp_path: Path) -> None:
    text = PROGRAM.format(first="", more="", train=PLAIN)
    done = _ran(tmp_path, text, "--dry_run")
    assert done.returncode == 0
    assert "--dry_run shortens none of the steps that a program makes in sessions" in done.stderr


@pytest.mark.slow
def test_a_flag_of_the_programs_own_is_its_own(tmp_path: Path) -> None:
    own = 'tf.flags.DEFINE_boolean("dry_run", False, "")'
    done = _ran(tmp_path, PROGRAM.format(first="", more=own, train=MONITORED), "--dry_run")
    assert (done.returncode, done.stdout) == (0, "trained 0.1\n")
    assert "dry_run" not in done.stderr


@pytest.mark.slow
def test_fit_of_keras_is_refused(tmp_path: Path) -> None:
    text = """
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(1, input_dim=3)])
model.compile("sgd", "mse")
model.fit(np.ones((8, 3)), np.ones((8, 1)), nb_epoch=1, verbose=0)
model.save("m.h5")
"""
    done = _ran(tmp_path, text, "--dry_run")
    assert done.returncode == 1
    assert "This program trains in Model.fit" in done.stderr
    assert not (tmp_path / "m.h5").exists()
