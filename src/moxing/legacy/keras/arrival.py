"""Makes the changes that are due when a program's modules first import Keras 2."""

from __future__ import annotations

import inspect
import os
import warnings
from typing import Any

from moxing.legacy.plain.dialect import Dialect

_done: list[bool] = []


def prepare() -> None:
    """Makes tf_keras accept the arguments of Keras 1 and 2; once in a process."""
    if _done:
        return
    _done.append(True)
    # Programs of that time cannot act on either warning.
    warnings.filterwarnings("ignore", "The `lr` argument is deprecated", UserWarning)
    warnings.filterwarnings("ignore", "You are saving your model as an HDF5 file", UserWarning)
    from tf_keras.api._v1.keras import layers
    from tf_keras.src import callbacks

    from moxing.legacy.keras import (
        free_variables,
        metric_functions,
        metric_names,
        models,
        old_arguments,
        old_files,
        orders,
        progress,
        recurrent_names,
        scalar_losses,
        tensor_facts,
    )
    from moxing.legacy.keras.older import keras_1

    old_arguments.install(layers)
    models.install()
    old_files.install()
    orders.install()
    progress.install()
    recurrent_names.install()
    scalar_losses.install()
    metric_functions.install()
    tensor_facts.install()
    free_variables.install()
    metric_names.install([callbacks])
    keras_1.serve()


def prepare_bare() -> None:
    """Gives tf_keras the behavior that only the package `keras` had, and `tf.keras` did not."""
    from moxing.legacy.keras import free_variables, old_arguments
    from moxing.legacy.keras.bare import optimizers, own_parts
    from moxing.legacy.keras.older import keras_1

    prepare()
    old_arguments.serve_bare()
    free_variables.serve_bare()
    own_parts.serve_bare()
    optimizers.serve_bare()
    keras_1.serve_bare()
    _move_home()


def _move_home() -> None:
    """Makes KERAS_HOME the folder of the files that Keras fetches, as Keras 2.3 did.

    The function's default is changed, because data sets, applications and the API all call that
    function. tf_keras itself reads its settings from KERAS_HOME, and nothing else.
    """
    home = os.environ.get("KERAS_HOME")
    if not home:
        return
    from tf_keras.src.utils import data_utils

    names = list(inspect.signature(data_utils.get_file).parameters)
    defaults: list[Any] = list(data_utils.get_file.__defaults__ or ())
    defaults[names.index("cache_dir") - len(names)] = home
    data_utils.get_file.__defaults__ = tuple(defaults)


def told(found: Dialect) -> str:
    """Returns the sentence that says which Keras `import keras` means, or an empty text."""
    if not found.bare:
        return ""
    shown = f"it uses {found.why}" if found.why else "nothing in it is of Keras 3 alone"
    if found.keras == 3:
        return f"import keras is Keras 3 for this program: {shown}"
    return f"import keras is Keras 2 (tf_keras) for this program: {shown}"
