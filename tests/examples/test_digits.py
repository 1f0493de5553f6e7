"""The digits example: its data is in MNIST's format, one step runs, a failing demo says so."""

from __future__ import annotations

import gzip
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import warm

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


@pytest.fixture(scope="module")
def data() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(DIGITS / "make_data.py")))


@pytest.fixture
def demo() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(DIGITS / "demo.py")))


def run(*command: object) -> str:
    done = warm.run(
        [sys.executable, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_images_look_like_mnist(data: SimpleNamespace) -> None:
    splits = data.load()
    assert {name: images.shape for name, (images, _) in splits.items()} == {
        "train": (1497, 28, 28),
        "t10k": (300, 28, 28),
    }
    images, labels = (np.concatenate(arrays) for arrays in zip(*splits.values(), strict=True))
    assert images.dtype == labels.dtype == np.uint8
    assert images.max() == 255
    assert not images[:, :4].any()
    assert not images[:, :, -4:].any()
    assert np.bincount(labels).min() > 170
    assert len(np.unique(images.reshape(1797, -1), axis=0)) == 1797


def test_enlarging_keeps_the_corners_and_interpolates_between(data: SimpleNamespace) -> None:
    small = np.zeros((1, 8, 8))
    small[0, 0, 0] = 16
    large = data.enlarge(small)[0]
    assert large[4, 4] == 255
    assert large[4, 5] == round(255 * (1 - 7 / 19))
    assert large.sum() == large[4:7, 4:7].sum()


def test_idx_header_and_content(data: SimpleNamespace, tmp_path: Path) -> None:
    images = np.arange(2 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(2, 28, 28)
    data.write_split(tmp_path, "train", images, np.array([7, 1], np.uint8))
    content = gzip.decompress((tmp_path / "train-images-idx3-ubyte.gz").read_bytes())
    assert content[:16].hex() == "00000803000000020000001c0000001c"
    assert content[16:] == images.tobytes()
    content = gzip.decompress((tmp_path / "train-labels-idx1-ubyte.gz").read_bytes())
    assert content.hex() == "00000801000000020701"


@pytest.mark.slow
def test_one_step_then_export_and_predict(tmp_path: Path) -> None:
    run(DIGITS / "make_data.py", tmp_path / "data")
    flags = [f"--data_url={tmp_path / 'data'}", f"--train_url={tmp_path / 'run'}"]
    trained = run(DIGITS / "train.py", *flags, "--steps=1")
    assert "step: 0(global step: 0)\tsample/sec: " in trained
    assert (tmp_path / "run" / "model.ckpt-1.index").exists()
    run(DIGITS / "train.py", *flags, "--run_mode=EVAL")
    predicted = run(DIGITS / "predict.py", tmp_path / "run" / "1", tmp_path / "data")
    assert " of 300 test images are classified correctly." in predicted


def test_failing_stage_ends_the_demo_with_its_name(demo: SimpleNamespace) -> None:
    stage = demo.Stage("evaluate", ["python", "-c", "import sys; print('oh'); sys.exit(3)"])
    with pytest.raises(demo.DemoError) as caught:
        stage.run()
    assert str(caught.value) == "evaluate: the command ended with exit code 3."
    assert stage.lines == ["oh"]


def test_output_without_the_expected_line_is_a_failure(demo: SimpleNamespace) -> None:
    stage = demo.Stage("evaluate", ["python", "-c", "print('accuracy: 0.5, accuracy: 0.75')"]).run()
    assert stage.find(r"accuracy: ([\d.]+)")[1] == "0.75"
    with pytest.raises(demo.DemoError) as caught:
        stage.find("loss: (.*)")
    assert str(caught.value) == "evaluate: its output has nothing like 'loss: (.*)'."
