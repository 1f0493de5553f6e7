"""KERAS_HOME, where the package `keras` kept its files; `tf.keras` kept them in the user's home."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from absl import flags as absl_flags

from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture
def faces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Faces:
    from tf_keras.src.utils import data_utils

    def fetch(*arguments: object, **named: object) -> None:
        raise AssertionError("it tried the web")

    get_file = data_utils.get_file
    monkeypatch.setattr(get_file, "__defaults__", get_file.__defaults__)
    monkeypatch.setattr(data_utils, "urlretrieve", fetch)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "kept"))
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


def test_bare_keras_finds_files_there(faces: Faces, tmp_path: Path) -> None:
    data, models = tmp_path / "kept" / "datasets", tmp_path / "kept" / "models"
    data.mkdir(parents=True)
    models.mkdir()
    digits = np.zeros((2, 28, 28), np.uint8)
    np.savez(data / "mnist.npz", x_train=digits, y_train=[3, 4], x_test=digits, y_test=[5, 6])
    (models / "weights.h5").write_text("")
    keras = faces.load("keras")

    assert faces.load("keras.datasets.mnist").load_data()[0][1].tolist() == [3, 4]
    found = keras.utils.get_file("weights.h5", "http://none.example/w", cache_subdir="models")
    assert found == str(models / "weights.h5")
    with pytest.raises(AssertionError, match="it tried the web"):
        keras.utils.get_file("weights.h5", "http://none.example/w", cache_dir=str(tmp_path))


def test_tf_keras_does_not_look_there(faces: Faces, tmp_path: Path) -> None:
    kept = tmp_path / "kept" / "datasets" / "own.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("")
    keras = faces.load("tensorflow.keras")

    with pytest.raises(AssertionError, match="it tried the web"):
        keras.utils.get_file("own.txt", "http://none.example/own.txt")
