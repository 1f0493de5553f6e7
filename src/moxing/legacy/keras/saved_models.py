"""`export_saved_model` and `load_from_saved_model` of `tf.keras.experimental`.

TensorFlow 1.14 to 2.2 had them; 1.12 and 1.13 had them in `tf.contrib.saved_model`, as
`save_keras_model` and `load_keras_model`.
"""

from __future__ import annotations

import time
from typing import Any

import tensorflow as tf

from moxing.errors import MoxValueError, shown
from moxing.logs import TENSORFLOW

_ARCHITECTURE = "assets/saved_model.json"
_OF_KERAS = "keras_metadata.pb"


def export_saved_model(
    model: Any,
    saved_model_path: str,
    custom_objects: dict[str, Any] | None = None,
    as_text: bool = False,
    input_signature: Any = None,
    serving_only: bool = False,
) -> None:
    """Exports a model as a SavedModel, with its architecture in `assets/saved_model.json`.

    Args:
        model: a model of `tf.keras`.
        saved_model_path: a folder, which must not hold a SavedModel already.
        custom_objects: not used: the file holds names of classes only.
        as_text: must be false: TensorFlow 2 writes no text.
        input_signature: not used: the shapes are those of the model's inputs.
        serving_only: whether to leave the architecture out.

    Raises:
        MoxValueError: `as_text` is set, or the folder holds a SavedModel.
    """
    from tf_keras.src import backend

    del custom_objects, input_signature
    path = str(saved_model_path)
    if as_text:
        raise MoxValueError(
            "export_saved_model has as_text=True: TensorFlow 2 writes binary SavedModels only."
            " Leave as_text out."
        )
    if tf.io.gfile.exists(f"{path}/saved_model.pb"):
        raise MoxValueError(
            f"export_saved_model has saved_model_path={shown(path)}, where there is a SavedModel"
            " already. Give another folder, or remove that one."
        )
    if not tf.executing_eagerly():
        backend.get_session([])  # It gives new variables their first values.
    model.save(path, save_format="tf")
    if serving_only:
        return
    try:
        architecture = model.to_json()
    except NotImplementedError:
        TENSORFLOW.warning("%s has no architecture: the model is a class of its own.", path)
        return
    tf.io.gfile.makedirs(f"{path}/assets")
    with tf.io.gfile.GFile(f"{path}/{_ARCHITECTURE}", "w") as file:
        file.write(architecture)


def save_keras_model(model: Any, saved_model_path: str, *given: Any, **named: Any) -> bytes:
    """`export_saved_model` to a new folder of `saved_model_path`, named by the time.

    Returns:
        That folder's path.
    """
    base, second = tf.compat.as_str(saved_model_path), int(time.time())
    while tf.io.gfile.exists(f"{base}/{second}"):
        second += 1
    export_saved_model(model, f"{base}/{second}", *given, **named)
    return tf.compat.as_bytes(f"{base}/{second}")


def load_from_saved_model(
    saved_model_path: str, custom_objects: dict[str, Any] | None = None
) -> Any:
    """Reads a model that `export_saved_model` or `save_keras_model` wrote, also TensorFlow 1's.

    Returns:
        The model. It is compiled if it was and if it is this function's own export.

    Raises:
        MoxValueError: there is no such model in the folder.
    """
    from tf_keras import models

    path = tf.compat.as_str(saved_model_path)
    if tf.io.gfile.exists(f"{path}/{_OF_KERAS}"):
        return models.load_model(path, custom_objects)
    if not tf.io.gfile.exists(f"{path}/{_ARCHITECTURE}"):
        raise MoxValueError(
            f"load_from_saved_model has {shown(path)}, where there is no {_ARCHITECTURE}. Give the"
            " folder that export_saved_model wrote, which holds saved_model.pb."
        )
    with tf.io.gfile.GFile(f"{path}/{_ARCHITECTURE}") as file:
        model: Any = models.model_from_json(file.read(), custom_objects)
    model.load_weights(f"{path}/variables/variables")
    return model
