"""`mox export SCRIPT.py`: a checkpoint of a program's model is exported, nothing is trained."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import warm

from moxing.cli import export
from moxing.cli import main as command
from moxing.legacy.program import launcher

PROGRAM = """
import tensorflow as tf
import moxing.tensorflow as mox

tf.flags.DEFINE_string('train_url', '', '')
tf.flags.DEFINE_boolean('train', True, '')
flags = tf.flags.FLAGS

def input_fn(mode):
  print('input_fn', mode)
  return tf.random_uniform([3])

def model_fn(inputs, mode):
  y = tf.layers.dense(inputs[0], 1)
  loss = tf.reduce_mean(y)
  return mox.ModelSpec(loss=loss, export_spec=mox.ExportSpec({'x': inputs[0]}, {'y': y}))

def main(*args):
  if flags.train:
    mox.run(input_fn=input_fn, model_fn=model_fn,
            optimizer_fn=mox.get_optimizer_fn('sgd', learning_rate=0.01),
            run_mode=mox.ModeKeys.TRAIN, batch_size=4, log_dir=flags.train_url,
            max_number_of_steps=5)
    print('went on')

if __name__ == '__main__':
  tf.app.run(main=main)
"""


def _mox(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "moxing", *arguments]
    return warm.run(command, cwd=cwd, capture_output=True, text=True, timeout=200)


@pytest.mark.slow
def test_a_program_that_has_trained(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    done = _mox("run", "train.py", "--train_url=out", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "input_fn TRAIN\nwent on\n"), done.stderr
    before = sorted(os.listdir(tmp_path / "out"))

    done = _mox("export", "train.py", "--kind=frozen", "--", "--train_url=out", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "input_fn TRAIN\n"), done.stderr
    assert done.stderr.splitlines()[-1] == (
        "INFO:tensorflow:Exported the checkpoint out/model.ckpt-5 to out/1."
    )
    assert sorted(os.listdir(tmp_path / "out")) == sorted([*before, "1"])
    written = sorted(os.listdir(tmp_path / "out" / "1"))
    assert written == ["frozen_graph.json", "frozen_graph.pb", "saved_model.pb", "variables"]

    done = _mox("export", "train.py", "--train=False", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        "mox: error: train.py ended without calling mox.run: nothing was exported. Give it flags"
        " with which it trains, as in mox export train.py --train=True"
    )


@pytest.mark.slow
def test_stated_inputs_need_no_data(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    assert _mox("run", "train.py", "--train_url=out", cwd=tmp_path).returncode == 0
    needs = PROGRAM.replace("  print('input_fn', mode)", "  raise OSError('no data')")
    (tmp_path / "train.py").write_text(needs)
    options = ("--train_url=out", "--input=float32:N,3")
    done = _mox("export", "train.py", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], str(tmp_path / "out" / "1"))
        signature = meta.signature_def["serving_default"]
        y = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: np.eye(7, 3)})
    assert y.shape == (7, 1)
    done = _mox("export", "train.py", "--train_url=out", "--input=float32:N,4", cwd=tmp_path)
    assert done.returncode == 1
    assert "has the shape (4, 1) in the export graph and (3, 1) in the checkpoint" in done.stderr


def test_own_options_and_the_programs_flags() -> None:
    given, flags = export._parse(
        ["--to=d", "x.py", "--kind", "onnx", "--kind=tflite", "--", "--to=e", "--", "--kind=f"]
    )
    assert (given.script, given.to, given.checkpoint) == ("x.py", "d", None)
    assert given.kind == ["onnx", "tflite"]
    assert flags == ["--to=e", "--", "--kind=f"]


def test_other_flags_are_the_programs_too() -> None:
    given, flags = export._parse(["x.py", "--checkpoint_dir=c", "--train_url", "e", "--to=d"])
    assert (given.script, given.to) == ("x.py", "d")
    assert flags == ["--checkpoint_dir=c", "--train_url", "e"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["x.py", "--knd=onnx"],
            "mox: error: mox export has no option --knd. Did you mean '--kind'? A flag of this name"
            " of the program's stands after --: mox export x.py -- --knd\n",
        ),
        (["none.py"], "mox: error: there is no file none.py in "),
        (["x.py", "--kind=pmml"], "usage: mox export SCRIPT.py [options]"),
        ([], "usage: mox export SCRIPT.py [options]"),
    ],
)
def test_mistakes(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launcher, "run", None)
    try:
        code = command.main(["export", *arguments])
    except SystemExit as end:
        code = end.code
    output = capsys.readouterr()
    assert (code, output.out) == (2, "")
    assert output.err.startswith(message)
