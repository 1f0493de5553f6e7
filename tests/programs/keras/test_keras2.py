"""Programs of Keras 2 under `mox run`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm

_HERE = Path(__file__).parent

pytestmark = pytest.mark.slow


def _mox(folder: Path, script: Path | str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "moxing", "run", str(script)],
        cwd=folder,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_a_program_of_keras_1_and_2_runs_as_it_is(tmp_path: Path) -> None:
    result = _mox(tmp_path, _HERE / "keras2.py")

    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("Keras 2 tf\n")
    assert "mox: import keras is Keras 2 (tf_keras) for this program: it uses" in result.stderr
    assert "deprecated" not in result.stderr


def test_a_program_of_keras_3_gets_keras_3(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import keras\nprint(keras.__version__[0], keras.ops.convert_to_numpy(keras.ops.ones(2)))\n"
    )

    result = _mox(tmp_path, "train.py")

    assert result.stdout == "3 [1. 1.]\n", result.stderr
    assert "import keras is Keras 3 for this program: it uses keras.ops" in result.stderr


def test_an_eager_program_gets_the_optimizers_of_its_time(tmp_path: Path) -> None:
    result = _mox(tmp_path, _HERE / "old_optimizers.py")

    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("as in 2.2\n")
