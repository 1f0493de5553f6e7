"""`mox uai train`: what it refuses, what it says, and real programs under it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import warm

from moxing.cli import uai
from moxing.framework import idx
from moxing.launch import supervise as supervising
from moxing.launch.uai import Training

SINGLE = """
import os
import numpy as np
import tensorflow as tf
from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_string('work_dir', '/data', '')
flags.DEFINE_string('data_dir', '/data/data', '')
flags.DEFINE_string('output_dir', '/data/output', '')
flags.DEFINE_integer('num_gpus', 1, '')


def main(_):
  with np.load(os.path.join(FLAGS.data_dir, 'mnist.npz')) as data:
    x, y, x_test, y_test = (data[name] for name in ('x_train', 'y_train', 'x_test', 'y_test'))
  model = tf.keras.models.Sequential([
      tf.keras.layers.Flatten(input_shape=(28, 28)),
      tf.keras.layers.Dense(512, activation=tf.nn.relu),
      tf.keras.layers.Dropout(0.2),
      tf.keras.layers.Dense(10, activation=tf.nn.softmax)])
  model.compile(optimizer='adam', loss='sparse_categorical_crossentropy', metrics=['accuracy'])
  model.fit(x / 255.0, y, epochs=1, verbose=0)
  path = os.path.join(FLAGS.output_dir, 'mnist.h5')
  model.save(path)
  again = tf.keras.models.load_model(path)
  print('gpus', FLAGS.num_gpus)
  print('accuracy', model.evaluate(x_test / 255.0, y_test, verbose=0)[1])
  print('equal', np.array_equal(again.predict(x_test[:100]), model.predict(x_test[:100])))


if __name__ == '__main__':
  app.run(main)
"""
# No flag of openmox says that there are several processes, only TF_CONFIG; like the programs of
# that time, this one gives the master its new name.
SEVERAL = """
import json
import os
import numpy as np
import tensorflow as tf
import moxing.tensorflow as mox
from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_string('work_dir', '/data', '')
flags.DEFINE_string('data_dir', '/data/data', '')
flags.DEFINE_string('output_dir', '/data/output', '')


def input_fn(run_mode, **kwargs):
  with np.load(os.path.join(FLAGS.data_dir, 'mnist.npz')) as data:
    x, y = data['x_train'][:2000] / np.float32(255), data['y_train'][:2000].astype('int64')
  return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(
      50).make_one_shot_iterator().get_next()


def model_fn(inputs, run_mode, **kwargs):
  x, y = inputs
  logits = tf.layers.dense(tf.layers.flatten(x), 10)
  loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
  return mox.ModelSpec(loss=loss, log_info={'loss': loss})


def main(_):
  config = json.loads(os.environ['TF_CONFIG'])
  if 'master' in config['cluster']:
    config['cluster']['chief'] = config['cluster'].pop('master')
  if config['task']['type'] == 'master':
    config['task']['type'] = 'chief'
  os.environ['TF_CONFIG'] = json.dumps(config)
  mox.run(input_fn=input_fn, model_fn=model_fn, run_mode=mox.ModeKeys.TRAIN,
          optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.1),
          log_dir=FLAGS.output_dir, max_number_of_steps=30, log_every_n_steps=10)


app.run(main)
"""

_KINDS = (("x", "images-idx3", idx.IMAGES), ("y", "labels-idx1", idx.LABELS))


@pytest.fixture
def folder(tmp_path: Path, data_dir: Path) -> Path:
    """A folder `data` with MNIST as one file, and an empty one for code."""
    (tmp_path / "code").mkdir()
    (tmp_path / "data").mkdir()
    arrays = {}
    for split, names in (("train", "train"), ("test", "t10k")):
        for name, kind, magic in _KINDS:
            path = data_dir / "mnist" / f"{names}-{kind}-ubyte.gz"
            arrays[f"{name}_{split}"] = idx.read(path, magic)
    np.savez(tmp_path / "data" / "mnist.npz", **arrays)
    return tmp_path


def trained(folder: Path, program: str, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "code" / "mnist.py").write_text(program)
    return warm.run(
        [sys.executable, "-m", "moxing", "uai", "train", f"--data={folder}/data"]
        + [f"--output={folder}/out", f"--code={folder}/code", f"--logs={folder}/logs", *flags]
        + ["/data/mnist.py"],
        env=warm.forking(),
        capture_output=True,
        text=True,
        timeout=400,
    )


@pytest.mark.slow
def test_the_single_node_program(folder: Path, real_data: bool) -> None:
    done = trained(folder, SINGLE)

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "[master 0] gpus 0\n" in done.stdout
    assert "[master 0] equal True\n" in done.stdout
    found = re.search(r"accuracy ([0-9.]+)", done.stdout)
    assert found is not None
    assert float(found[1]) >= (0.93 if real_data else 0.5)
    assert re.search(
        rf"mox uai: In {folder}/out:\nmox uai:   mnist\.h5 \([0-9,]+ bytes\)\n$", done.stderr
    )


@pytest.mark.slow
def test_several_nodes_by_tf_config_alone(folder: Path) -> None:
    done = trained(folder, SEVERAL, "--nodes=2", "--ps=1")

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert (folder / "out" / "model.ckpt-30.index").exists()
    for task in ("master 0", "worker 0", "ps 0"):
        assert f"[{task}] " in done.stdout
    assert "mox uai:   model.ckpt-30.index" in done.stderr


def given(tmp_path: Path, body: str, *flags: str) -> list[str]:
    (tmp_path / "p.py").write_text(body)
    folders = [f"--data={tmp_path}", f"--output={tmp_path}/out", f"--code={tmp_path}"]
    return ["train", *folders, f"--logs={tmp_path}/logs", *flags]


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert uai.main([*given(tmp_path, ""), "q.py"]) == 2
    assert capsys.readouterr().err == (
        f"mox: error: there is no file q.py in {tmp_path}; --code names its folder.\n"
    )
    assert uai.main([*given(tmp_path, "", "--grace=-1"), "p.py"]) == 2
    assert capsys.readouterr().err == (
        "mox: error: --grace=-1 must be from 0 to 86400 seconds, a day; 0 kills at once.\n"
    )
    assert uai.main([*given(tmp_path, "", "--max_restarts=-1"), "p.py"]) == 2
    assert capsys.readouterr().err == "mox: error: --max_restarts=-1 is negative.\n"


@pytest.mark.parametrize("arguments", [[], ["run"], ["train", "p.py"]])
def test_mistakes_that_argparse_explains(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        uai.main(arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("usage: mox uai")


def test_what_comes_back_is_listed(tmp_path: Path) -> None:
    assert uai._contents(tmp_path) == [f"The program has written nothing to {tmp_path}."]
    (tmp_path / "a").mkdir()
    for number in range(22):
        (tmp_path / "a" / f"{number:02}").write_bytes(b"x" * 1000 * number)
    lines = uai._contents(tmp_path)
    assert lines[:3] == [f"In {tmp_path}:", "  a/00 (0 bytes)", "  a/01 (1,000 bytes)"]
    assert lines[-1] == "  and 2 more files"
    (tmp_path / "a" / "20").unlink()
    assert uai._contents(tmp_path)[-1] == "  and 1 more file"


def test_locks_and_saves_cut_short_are_nothing_that_comes_back(tmp_path: Path) -> None:
    (tmp_path / ".mox-tmp-1@host.x").mkdir()
    for name in (".mox.lock", ".mox.lock.json", ".mox-tmp-1@host.x/model.ckpt-5.index"):
        (tmp_path / name).touch()
    (tmp_path / "gone").symlink_to("nowhere")
    assert uai._contents(tmp_path) == [f"The program has written nothing to {tmp_path}."]
    (tmp_path / ".hidden").touch()
    assert uai._contents(tmp_path)[1:] == ["  .hidden (0 bytes)"]


@pytest.mark.parametrize("arguments", ["--a=1 --b='x y'", "--help"])
def test_what_follows_the_program_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    """Both as one word, as the platform has it, and as several."""
    jobs: list[Training] = []
    monkeypatch.setattr(supervising, "supervise", lambda job, *_, **__: jobs.append(job) or 3)
    flags = given(tmp_path, "", "--nodes=2", "--ps=1", "--num_gpus=4")

    assert uai.main([*flags, f"p.py {arguments}"]) == 3
    assert uai.main([*flags, "p.py", *shlex.split(arguments)]) == 3

    assert jobs[0] == jobs[1]
    assert jobs[0].arguments == tuple(shlex.split(arguments))
    assert (jobs[0].nodes, jobs[0].ps, jobs[0].num_gpus) == (2, 1, 4)
