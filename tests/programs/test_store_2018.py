"""Programs of 2018 that give URLs of an object store to mox, to Python and to pandas."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm

PREDICT = """
import numpy as np
import pandas as pd
import tensorflow as tf
import moxing.tensorflow as mox


def input_fn(run_mode, **kwargs):
  return [tf.constant(2.0)]


def model_fn(inputs, run_mode, **kwargs):
  weight = tf.get_variable('weight', [], initializer=tf.zeros_initializer())
  loss = tf.reduce_mean(tf.square(weight - inputs[0]))
  return mox.ModelSpec(loss=loss, log_info={'loss': loss},
                       output_info={'prediction': weight * inputs[0]})


def output_fn(outputs):
  df = pd.DataFrame(np.array(outputs))
  with mox.file.File('s3://dls-test/outputs.txt', 'w') as f:
    df.to_csv(f)


mox.run(input_fn=input_fn, model_fn=model_fn, run_mode=mox.ModeKeys.TRAIN,
        optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.5),
        log_dir='s3://dls-test/log', max_number_of_steps=2)
mox.run(input_fn=input_fn, model_fn=model_fn, run_mode=mox.ModeKeys.PREDICT,
        output_fn=output_fn, output_every_n_steps=3,
        checkpoint_path='s3://dls-test/log', max_number_of_steps=3)
"""


def run(source: str, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "program.py").write_text(source)
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("S3_", "AWS_", "MOX_FILE_"))}
    return warm.run(
        [sys.executable, "-m", "moxing", "run", "program.py"],
        cwd=tmp_path,
        env=kept | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
def test_outputs_of_a_prediction_go_to_the_store(tmp_path: Path) -> None:
    (tmp_path / "buckets" / "dls-test").mkdir(parents=True)
    done = run(PREDICT, tmp_path, MOX_FILE_S3_ROOT=str(tmp_path / "buckets"))
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "buckets" / "dls-test" / "outputs.txt").read_text().splitlines()
    assert len(lines) == 4
    assert "prediction" in lines[1]
    assert "4.0" in lines[1]


@pytest.mark.slow
def test_without_a_store_nothing_is_built(tmp_path: Path) -> None:
    done = run(PREDICT, tmp_path)
    assert done.returncode == 1
    assert "no S3/OBS endpoint configured (S3_ENDPOINT is not set), so s3://dls-test/log" in (
        done.stderr
    )
    assert "Running will end at step" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("line", ["open('s3://dls-test/a.txt')", "os.listdir('s3://dls-test')"])
def test_pitfall_2_4_1_pythons_own_functions_read_no_urls(tmp_path: Path, line: str) -> None:
    (tmp_path / "buckets" / "dls-test").mkdir(parents=True)
    (tmp_path / "buckets" / "dls-test" / "a.txt").write_text("text")
    root = {"MOX_FILE_S3_ROOT": str(tmp_path / "buckets")}
    done = run(f"import os\n{line}\n", tmp_path, **root)
    assert done.returncode == 1
    assert (
        " is in an object store, which Python's own functions do not read: use mox.file.* or"
        " mox.file.shift('os','mox')." in done.stderr
    )
    shifted = f"import os\nfrom moxing import file\nfile.shift('os', 'mox')\nprint({line})\n"
    assert run(shifted, tmp_path, **root).returncode == 0
