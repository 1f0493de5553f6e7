"""The faces of `tensorflow`, `oneflow`, `numpy`, `absl` and `importlib` for users' modules."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from absl import flags as absl_flags

from moxing.legacy import libraries
from moxing.legacy.contrib import table
from moxing.legacy.face import patches
from moxing.legacy.face.faces import Faces, Spec
from moxing.legacy.flags import app, flags_face
from moxing.legacy.flags.command_line import CommandLine
from moxing.legacy.flags.tolerant_flags import TolerantFlags
from moxing.legacy.keras import spec as keras_spec
from moxing.legacy.names import early_2, old_names, python_paths
from moxing.legacy.plain.dialect import Dialect
from moxing.legacy.uaitrain import face as uaitrain

_V1 = "tensorflow.compat.v1"
_ESTIMATOR = "moxing.estimator"
_V1_PROGRAM = Dialect()
_VERSION = "moxing.legacy.names.version:VERSION"
_EXAMPLES = "Only tensorflow.examples.tutorials.mnist.input_data has a stand-in."


# Strategies that start nothing: see moxing.estimator.strategies.
_STRATEGIES = f"{_ESTIMATOR}.strategies"
_DISTRIBUTE = Spec(
    roots=(f"{_V1}.distribute",),
    names={
        "MirroredStrategy": f"{_STRATEGIES}:MirroredStrategy",
        "MultiWorkerMirroredStrategy": f"{_STRATEGIES}:MultiWorkerMirroredStrategy",
        "OneDeviceStrategy": f"{_STRATEGIES}:OneDeviceStrategy",
        "ParameterServerStrategy": f"{_STRATEGIES}:ParameterServerStrategy",
        "cluster_resolver": table.CLUSTER_RESOLVER,
        "experimental": Spec(
            roots=(f"{_V1}.distribute.experimental",),
            names={
                "CentralStorageStrategy": f"{_STRATEGIES}:CentralStorageStrategy",
                "MultiWorkerMirroredStrategy": f"{_STRATEGIES}:MultiWorkerMirroredStrategy",
                "ParameterServerStrategy": f"{_STRATEGIES}:ParameterServerStrategy",
            },
        ),
    },
)


_MNIST = Spec(
    names={
        "input_data": "moxing.legacy.data.mnist",
        "mnist": "moxing.legacy.contrib.mnist_tutorial",
    }
)


def _app(module: str, run: Callable[..., Any]) -> Spec:
    return Spec(roots=(module,), names={"run": lambda: run, "flags": "face:tensorflow.flags"})


def _show_keras_2() -> None:
    """Provides `tf.layers`, whatever the process did with TensorFlow before the program."""
    from moxing.engine.graph import graph_keras

    graph_keras.show_in_v1()


def tensorflow_spec(flags: Spec, run: Callable[..., Any]) -> Spec:
    """Returns the TensorFlow 1.x that a program imports.

    Args:
        flags: `tf.flags`.
        run: `tf.app.run`.
    """
    return Spec(
        roots=(_V1,),
        names={
            **old_names.RENAMED,
            **dict.fromkeys(("VERSION", "__version__"), _VERSION),
            "app": _app("tensorflow.python.platform.app", run),
            "compat": Spec(
                roots=("tensorflow.compat",),
                names={"v1": "face:tensorflow"},
                fallback=(f"{_V1}.compat",),
            ),
            "compiler": "tensorflow.compiler",
            "contrib": table.CONTRIB,
            "core": "tensorflow.core",
            "distribute": _DISTRIBUTE,
            "estimator": _ESTIMATOR,
            "examples": Spec(
                names={
                    "tutorials": Spec(
                        names={"mnist": _MNIST},
                        otherwise=f" {_EXAMPLES}",
                    )
                },
                otherwise=f" {_EXAMPLES}",
            ),
            "flags": flags,
            "keras": keras_spec.of_tensorflow(),
            "python": python_paths.PYTHON,
            "pywrap_tensorflow": "face:tensorflow.python.pywrap_tensorflow",
            "tools": Spec(
                roots=("tensorflow.tools",),
                names={
                    "graph_transforms": "moxing.legacy.names.graph_transforms",
                    "tfprof": old_names.TFPROF,
                },
                deep=True,
            ),
            "version": Spec(roots=(f"{_V1}.version",), names={"VERSION": _VERSION}),
        },
        otherwise=" It is neither in TensorFlow 1.x nor among the parts that openmox restores.",
        arrive=_show_keras_2,
    )


def current_spec(old_optimizers: bool = False) -> Spec:
    """Returns the TensorFlow 2.x that a program written for 2.0 and its next versions imports.

    Args:
        old_optimizers: whether the program needs Keras' optimizers of before TensorFlow 2.11.
    """
    return Spec(
        roots=("tensorflow",),
        names={
            **({"optimizers": "face:tensorflow.keras.optimizers"} if old_optimizers else {}),
            "keras": keras_spec.of_tensorflow(eager=True, old_optimizers=old_optimizers),
            "estimator": _ESTIMATOR,
            **early_2.NAMES,
            "distribute": Spec(
                roots=("tensorflow.compat.v2.distribute",),
                names={"Server": "moxing.legacy.distribute.servers:Server"},
                deep=True,
            ),
            "python": Spec(
                roots=("tensorflow.python",), names={"keras": "face:tensorflow.keras"}, deep=True
            ),
        },
        deep=True,
    )


def make_faces(
    command_line: CommandLine,
    absl_values: absl_flags.FlagValues = absl_flags.FLAGS,
    dialect: Dialect = _V1_PROGRAM,
) -> Faces:
    """Returns the table of all faces that the user's modules see in place of the real modules.

    Args:
        command_line: the program's command line.
        absl_values: the flags that `tf.flags` shows.
        dialect: the program's dialect.
    """
    values = TolerantFlags(command_line, absl_values)
    flags = Spec(roots=("absl.flags",), names=flags_face.names(values))
    run = app.runner(values, command_line)
    absent = {
        name: Spec(roots=(root,), deep=True)
        for name, root in (
            ("oneflow", "moxing.flow"),
            ("horovod", "moxing.horovod"),
        )
        if importlib.util.find_spec(name) is None
    }
    # The package is a copy of the standard library's for old Pythons.
    mock = "unittest.mock" if importlib.util.find_spec("mock") is None else "mock"
    if importlib.util.find_spec("imp") is None:
        absent["imp"] = Spec(roots=("moxing.legacy.face.imp_face",))
    old_optimizers = dialect.old_optimizers
    tensorflow = tensorflow_spec(flags, run) if dialect.old_names else current_spec(old_optimizers)
    if not dialect.old_names:
        tensorflow = replace(tensorflow, names={**tensorflow.names, "flags": flags})
    shown = {
        "tensorflow": tensorflow,
        "absl": Spec(
            roots=("absl",),
            names={"flags": "face:tensorflow.flags", "app": _app("absl.app", run)},
        ),
    }
    if dialect.keras == 2:
        shown["keras"] = keras_spec.bare(dialect.eager, old_optimizers)
    elif not dialect.old_names:
        del shown["tensorflow"], shown["absl"]  # Today's, with today's Keras.
    faces = Faces(
        {
            **absent,
            **shown,
            **libraries.specs(),
            **patches.specs(lambda: faces),
            "uaitrain": uaitrain.spec(flags),
            "mock": patches.mock_spec(mock, lambda: faces),
            "importlib": Spec(
                roots=("importlib",), names={"import_module": lambda: faces.import_module}
            ),
        }
    )
    return faces
