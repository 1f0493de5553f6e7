"""Damaged and hostile models: `.h5` files, also of Keras 1, and SavedModels.

A program loads them, so an error of the library is for the program. None may end the process by a
signal, fill the memory or hang.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tensorflow.compat.v1 as tf
from attempt import Input

from moxing.errors import MoxError, MoxValueError

H5, SAVED = "model.h5", "saved"
_ARGUMENTS: dict[str, Any] = {"name": "d", "output_dim": 3, "batch_input_shape": [None, 2]}
_LAYER = {"class_name": "Dense", "config": _ARGUMENTS}


def warm(folder: Path) -> None:
    """Makes whole models."""
    import h5py
    import tf_keras

    model = tf_keras.Sequential([tf_keras.layers.Dense(3, input_shape=(2,), name="d")])
    model.save(folder / H5)
    with h5py.File(folder / H5, "r+") as file:  # As Keras 1 wrote it.
        file.attrs["keras_version"] = "1.2.2"
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": [_LAYER]})
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], "x")
        y = tf.matmul(x, tf.get_variable("w", [2, 3]))
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder / SAVED), {"x": x}, {"y": y})
    os.chdir(folder)
    _load_h5(), _load_saved()  # Whole they can be loaded.


def inputs(
    folder: Path, damages: Callable[[bytes], Iterator[tuple[str, bytes]]]
) -> Iterator[Input]:
    """Args: folder: that of the whole models. damages: changes a file's content."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        at = file.relative_to(folder)
        load = _load_h5 if at.suffix == ".h5" else _load_saved
        for name, content in damages(file.read_bytes() or b"x"):

            def make(at: Path = at, content: bytes = content) -> None:
                for each in folder.iterdir():
                    (shutil.copytree if each.is_dir() else shutil.copy)(each, each.name)
                at.write_bytes(content)

            yield Input(f"model: {at} {name}", load, make=make)
    for number, (key, value) in enumerate(_attributes()):

        def make_attributes(key: str = key, value: Any = value) -> None:
            import h5py

            shutil.copy(folder / H5, H5)
            with h5py.File(H5, "r+") as file:
                file.attrs[key] = value

        yield Input(f"model: attribute {number} {key}", _load_h5, True, make_attributes)


def _attributes() -> Iterator[tuple[str, Any]]:
    odd: list[Any] = [None, [], {}, "x", -1, 1 << 62, [[]], {"class_name": 1, "config": 1}]
    for value in odd:
        yield "model_config", json.dumps(value)
        yield "model_config", json.dumps({"class_name": "Sequential", "config": value})
    for key, value in itertools.product(_ARGUMENTS, odd[1:]):
        layer = {**_LAYER, "config": {**_ARGUMENTS, key: value}}
        if (key, value) != ("name", "x"):
            yield "model_config", json.dumps({"class_name": "Sequential", "config": [layer]})
    yield "model_config", "[" * 60_000
    yield "model_config", '{"config":' * 60_000


def _load_h5() -> None:
    import tf_keras

    from moxing.legacy.keras import old_files

    old_files.install()
    _load(lambda: tf_keras.models.load_model(H5))


def _load_saved() -> None:
    from moxing.estimator import predictor

    _load(lambda: predictor.from_saved_model(SAVED))


def _load(load: Callable[[], Any]) -> None:
    try:
        load()
    except MoxError:
        raise
    except Exception as error:
        raise MoxValueError(f"a damaged model: {type(error).__name__}") from error
