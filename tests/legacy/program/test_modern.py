"""Programs that import `moxing.keras` take openmox's flags under `mox run`, with any parser."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import warm

ARGPARSE = """
import argparse
import moxing.keras
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--seed", type=int)
given = parser.parse_args()
print(given.steps, given.seed, SHOWN)
"""
ABSL = """
from absl import app, flags
import moxing.keras
flags.DEFINE_integer("steps", 3, "")
flags.DEFINE_integer("seed", None, "")
app.run(lambda _: print(flags.FLAGS.steps, flags.FLAGS.seed, SHOWN))
"""
NONE = """
import moxing.keras
print(3, 7, SHOWN)
"""
CLICK = """
import click
import moxing.keras

@click.command()
@click.option("--steps", type=int, default=3)
@click.option("--seed", type=int)
@click.option("--num_gpus", type=int)
def main(steps, seed, num_gpus):
    print(steps, seed, SHOWN)
main()
"""
# The value that `moxing.keras.fit` reads. With the name `flags` a program would read flags itself.
SHOWN = 'vars(vars(moxing)["fl" "ags"])["get_" "flag"]("num_gpus")'


def _run(folder: Path, program: str, *arguments: str) -> tuple[int, str, str]:
    (folder / "train.py").write_text(program.replace("SHOWN", SHOWN))
    done = warm.run(
        [sys.executable, "-m", "moxing", "run", "train.py", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("program", [ARGPARSE, ABSL, NONE, CLICK])
def test_flags_of_openmox_and_of_the_program(tmp_path: Path, program: str) -> None:
    if program is CLICK:
        pytest.importorskip("click")
    arguments = ["--steps=3", "--num_gpus=2", "--seed", "7"]
    if program is NONE:
        arguments = arguments[1:]

    code, shown, errors = _run(tmp_path, program, *arguments)

    assert (code, shown) == (0, "3 7 2\n"), errors


@pytest.mark.slow
@pytest.mark.parametrize("program", [ARGPARSE, ABSL, NONE])
def test_a_misspelled_flag_of_openmox_trains_nothing(tmp_path: Path, program: str) -> None:
    code, shown, errors = _run(tmp_path, program, "--num_gpu=2")

    assert code != 0
    assert shown == ""
    assert "Did you mean" in errors
    assert "num_gpus" in errors


@pytest.mark.slow
def test_a_bad_value_of_a_flag_of_openmox(tmp_path: Path) -> None:
    code, shown, errors = _run(tmp_path, ARGPARSE, "--num_gpus=two")

    assert (code, shown) == (2, "")
    assert errors == "mox: error: --num_gpus=two: expected an integer, got 'two'.\n"


@pytest.mark.slow
def test_a_mistake_in_a_callback_is_told_by_its_line_alone(tmp_path: Path) -> None:
    program = """
import keras
import numpy as np
import moxing.keras
class Mine(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(logs["val_loss"])
model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
data = (np.ones((8, 2), "float32"), np.ones((8, 1), "float32"))
moxing.keras.fit(model, data, batch_size=4, epochs=1, callbacks=[Mine()])
"""
    code, _, errors = _run(tmp_path, program)

    assert code == 1
    assert "site-packages" not in errors
    assert 'moxing/keras/epochs.py"' not in errors
    path = tmp_path / "train.py"
    assert f'\n  at {path}:7: print(logs["val_loss"])\n' in errors
    assert errors.splitlines()[-1] == "openmox: raised in step 2 (global step 2) of TRAIN."


@pytest.mark.slow
def test_a_mistake_in_a_layer_is_told_by_its_line_alone(tmp_path: Path) -> None:
    program = """
import keras
import numpy as np
import moxing.keras
class Mine(keras.layers.Layer):
    def call(self, x):
        return keras.ops.matmul(x, keras.ops.ones((7, 2)))
model = keras.Sequential([Mine()])
model.compile("sgd", "mse")
moxing.keras.fit(model, (np.ones((8, 4), "float32"), np.ones((8, 2), "float32")), batch_size=4)
"""
    code, _, errors = _run(tmp_path, program)

    assert code == 1
    assert "site-packages" not in errors
    assert f"\n  at {tmp_path}/train.py:7: return keras.ops.matmul(" in errors
    assert "input shapes: [4,4], [7,2]" in errors
