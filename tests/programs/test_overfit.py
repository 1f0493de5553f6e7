"""A small network learns a few images by heart, and evaluation from the checkpoint agrees."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets import norm
from moxing.tensorflow.nets.style import Style

ROOT = Path(__file__).parents[2]


@pytest.fixture
def overfit() -> ModuleType:
    """The benchmark as a module."""
    spec = importlib.util.spec_from_file_location("overfit", ROOT / "benchmarks" / "overfit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Two classes of six noisy images each, which differ by chance alone."""
    chance = np.random.default_rng(5)
    with tf.Graph().as_default(), tf.Session() as session:
        content = tf.placeholder(tf.uint8, [32, 32, 3])
        encoded = tf.io.encode_jpeg(content)
        for name in ("one", "two"):
            folder = tmp_path / "images" / name
            folder.mkdir(parents=True)
            for index in range(6):
                coarse = chance.integers(0, 256, (8, 8, 3), dtype=np.uint8)
                pixels = coarse.repeat(4, 0).repeat(4, 1)
                data = session.run(encoded, {content: pixels})
                (folder / f"{index}.jpg").write_bytes(data)
    return tmp_path / "images"


@pytest.fixture
def _soon_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moving averages follow within some ten steps, not some thousand."""
    original = norm._normalize

    def normalize(style: Style, *rest: Any) -> Any:
        return original(dataclasses.replace(style, norm_decay=0.8), *rest)

    monkeypatch.setattr(norm, "_normalize", normalize)


@pytest.mark.slow
@pytest.mark.usefixtures("_soon_settled")
def test_training_and_evaluation_agree(overfit: ModuleType, images: Path, tmp_path: Path) -> None:
    overfit.NETWORK = "resnet_v1_20"  # A tenth of the work of the benchmark's.
    overfit.take(images, 11, tmp_path / "tree")
    assert len(list((tmp_path / "tree" / "one").iterdir())) == 6
    assert len(list((tmp_path / "tree" / "two").iterdir())) == 5
    arguments = (tmp_path / "tree", tmp_path / "log")
    trained = overfit.run(*arguments, "TRAIN", 40, 32, 11, 0.01)
    evaluated = overfit.run(*arguments, "EVAL", 40, 32, 11, 0.01)
    assert trained["accuracy"] > 0.95
    assert evaluated["accuracy"] > 0.95
