"""What a program sees in the image of program.Dockerfile, in an environment that is set up so."""

from __future__ import annotations

import gzip
import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import numpy as np
import pytest

import moxing

ROOT = Path(__file__).parents[2]
CURRENT = """
import os
import sys
import tensorflow as tf

with tf.GradientTape() as tape:
    x = tf.Variable(3.0)
    y = x * x
print(tape.gradient(y, x).numpy(), os.environ.get('TF_USE_LEGACY_KERAS'))
print('moxing.tensorflow' in sys.modules)
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python environment in which the Dockerfile's own commands for openmox have been run."""
    folder = tmp_path_factory.mktemp("image")
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    source = Path(moxing.__file__).parents[1]
    (site / "_others.pth").write_text(f"{source}\n{sysconfig.get_path('purelib')}\n")
    text = (ROOT / "docker" / "program.Dockerfile").read_text()
    commands = [line.split()[1:] for line in text.splitlines() if line.startswith("RUN mox ")]
    assert commands
    for _, *arguments in commands:
        python(folder, folder, "-m", "moxing", *arguments)
    return folder


def python(image: Path, folder: Path, *arguments: str, **variables: str) -> tuple[str, str]:
    done = subprocess.run(
        [str(image / "bin" / "python"), *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout, done.stderr


def digits(folder: Path) -> None:
    """MNIST's four files with random images."""
    random = np.random.default_rng(0)
    for name, count in (("train", 256), ("t10k", 64)):
        images = random.integers(0, 255, (count, 28, 28), np.uint8)
        labels = random.integers(0, 10, count).astype(np.uint8)
        for kind, header, data in (("images-idx3", 16, images), ("labels-idx1", 8, labels)):
            path = folder / f"{name}-{kind}-ubyte.gz"
            path.write_bytes(gzip.compress(bytes(header) + data.tobytes()))


@pytest.mark.slow
def test_the_platforms_distributed_program_runs_under_plain_python(
    image: Path, tmp_path: Path
) -> None:
    digits(tmp_path)
    flags = [f"--data_dir={tmp_path}", f"--output_dir={tmp_path}/out", f"--work_dir={tmp_path}"]
    program = str(ROOT / "examples" / "uai" / "mnist_dist.py")

    out, err = python(image, tmp_path, program, *flags, "--num_gpus=0", "--max_steps=2")

    assert f"mox: {program} uses tf.estimator.RunConfig (line 75), gone from TensorFlow 2.x" in err
    assert "after step 2" in out
    assert (tmp_path / "out" / "model.ckpt-2.index").exists()


@pytest.mark.slow
def test_programs_of_current_tensorflow_are_as_without_openmox(image: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CURRENT)

    out, err = python(image, tmp_path, "train.py", TF_CPP_MIN_LOG_LEVEL="3")

    assert out == "6.0 None\nFalse\n"
    assert "mox" not in err
