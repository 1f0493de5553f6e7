"""`tf.keras.datasets` reads the user's own files, and asks the web only where there is no path."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import tarfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ["TF_USE_LEGACY_KERAS"] = "1"

from absl import flags as absl_flags  # noqa: E402

from moxing.errors import MoxValueError  # noqa: E402
from moxing.legacy.data import keras_data  # noqa: E402
from moxing.legacy.face import catalog  # noqa: E402
from moxing.legacy.flags.command_line import CommandLine  # noqa: E402


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> types.ModuleType:
    """As a program sees them, without a web."""
    from tf_keras.src.utils import data_utils

    def fetch(*arguments: Any, **keywords: Any) -> None:
        raise AssertionError("it tried the web")

    monkeypatch.setattr(data_utils, "urlretrieve", fetch)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    return faces.load("tensorflow.keras.datasets")


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level("WARNING", logger="tensorflow"):
        yield caplog


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "mnist.npz"
    path.parent.mkdir()
    images = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
    labels = np.array([3, 4], np.uint8)
    np.savez(path, x_train=images, y_train=labels, x_test=images[:1], y_test=labels[:1])
    return path


def test_a_file_of_ones_own_is_read_with_a_warning(
    datasets: types.ModuleType, digits: Path, log: pytest.LogCaptureFixture
) -> None:
    (x, y), (x_test, y_test) = datasets.mnist.load_data(path=str(digits))

    assert (x.shape, y.tolist(), x_test.shape, y_test.tolist()) == (
        (2, 28, 28),
        [3, 4],
        (1, 28, 28),
        [3],
    )
    digest = hashlib.sha256(digits.read_bytes()).hexdigest()[:12]
    assert [record.getMessage() for record in log.records] == [
        f"{digits} is read as it is; it is not the file that Keras publishes as mnist (its SHA-256"
        f" is {digest}...)."
    ]


def test_a_folder_and_relative_paths(
    datasets: types.ModuleType, digits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(digits.parent)

    for path in (digits.parent, "mnist.npz", "./mnist.npz", "."):
        assert datasets.mnist.load_data(path)[0][1].tolist() == [3, 4]


def test_a_damaged_download_is_fetched_again(
    datasets: types.ModuleType,
    digits: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    log: pytest.LogCaptureFixture,
) -> None:
    cached = tmp_path / "home" / ".keras" / "datasets" / "mnist.npz"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(digits.read_bytes()[:100])
    monkeypatch.chdir(digits.parent)

    with pytest.raises(AssertionError, match="it tried the web"):
        datasets.mnist.load_data()
    assert "mnist.npz is damaged" in log.text
    assert datasets.mnist.load_data("./mnist.npz")[0][1].tolist() == [3, 4]


def test_a_file_of_the_cache_is_not_downloaded_over(
    datasets: types.ModuleType, digits: Path, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    """Whatever name the program gives to its own copy, where that is not there."""
    cache = tmp_path / "home" / ".keras" / "datasets"
    cache.mkdir(parents=True)
    (cache / "mnist.npz").write_bytes(digits.read_bytes())
    (cache / "imdb_word_index.json").write_text('{"a": 1}')
    with tarfile.open(cache / "cifar-10-batches-py.tar.gz", "w:gz") as archive:
        for name in (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"):
            content = pickle.dumps(
                {b"data": np.zeros((10_000, 3072), np.uint8), b"labels": [7] * 10_000}
            )
            entry = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))

    assert datasets.mnist.load_data()[0][1].tolist() == [3, 4]
    assert datasets.mnist.load_data("mnist-of-rank-1.npz")[0][1].tolist() == [3, 4]
    assert datasets.imdb.get_word_index() == {"a": 1}
    assert datasets.cifar10.load_data()[1][1].tolist()[0] == [7]
    (cache / "cifar-10-batches-py.tar.gz").unlink()
    assert datasets.cifar10.load_data()[1][1].tolist()[0] == [7]
    assert "(its MD5 is" in log.text
    assert log.text.count("is read as it is") == 4


def test_the_published_file_is_read_without_a_word(
    digits: Path, log: pytest.LogCaptureFixture
) -> None:
    published = hashlib.sha256(digits.read_bytes()).hexdigest()
    assert keras_data._is_kept(str(digits), published, "mnist")
    assert log.records == []


def test_a_path_at_which_there_is_nothing_is_an_error(
    datasets: types.ModuleType, tmp_path: Path
) -> None:
    with pytest.raises(MoxValueError) as raised:
        datasets.mnist.load_data(path=f"{tmp_path}/none.npz")
    assert str(raised.value) == (
        f"tf.keras.datasets.mnist.load_data(path='{tmp_path}/none.npz'): there is no such file."
        " Give the path of mnist.npz, or leave it out to download that to"
        f" {tmp_path}/home/.keras/datasets."
    )


def test_without_a_path_keras_fetches_it(datasets: types.ModuleType) -> None:
    with pytest.raises(AssertionError, match="it tried the web"):
        datasets.mnist.load_data()


@pytest.mark.parametrize("name", ["boston_housing", "imdb", "mnist", "reuters"])
def test_all_that_have_a_path(datasets: types.ModuleType, tmp_path: Path, name: str) -> None:
    with pytest.raises(MoxValueError, match="there is no such file"):
        getattr(datasets, name).load_data(path=f"{tmp_path}/x.npz")
    assert callable(datasets.cifar10.load_data)
