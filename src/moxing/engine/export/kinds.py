"""The kinds of exported models, and which of them a signature can become."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Collection, Iterator
from typing import Final

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import control_flow_util

from moxing.engine.graph.ancestry import behind
from moxing.engine.graph.blame import place
from moxing.engine.job.signature import ExportSignature, components
from moxing.errors import MoxImportError, MoxNotSupportedError

SAVED_MODEL: Final = "TF_SERVING"
FROZEN_GRAPH: Final = "FROZEN_GRAPH"
TFLITE: Final = "TFLITE"
ONNX: Final = "ONNX"
KINDS: Final = (SAVED_MODEL, FROZEN_GRAPH, TFLITE, ONNX)

_TABLES = ("HashTable", "MutableHashTable", "MutableDenseHashTable")


def check_installed(kinds: Collection[str]) -> None:
    """Raises if a kind needs a package that is not installed.

    Raises:
        MoxImportError: a package is missing; the message has the command that installs it.
    """
    if ONNX in kinds and importlib.util.find_spec("tf2onnx") is None:
        raise MoxImportError(
            "Exporting to ONNX needs the package tf2onnx, which is not installed: pip install"
            " 'openmox[onnx]'."
        )


@contextlib.contextmanager
def functional_loops(kinds: Collection[str]) -> Iterator[None]:
    """In the block, loops and branches are functions where a kind needs that.

    TensorFlow Lite has no operations for those of control flow v1, of which `tf.nn.dynamic_rnn` and
    `tf.while_loop` are made in TensorFlow 1.x's mode.
    """
    switched = TFLITE in kinds and not control_flow_util.ENABLE_CONTROL_FLOW_V2
    if switched:
        control_flow_util.ENABLE_CONTROL_FLOW_V2 = True
    try:
        yield
    finally:
        if switched:
            control_flow_util.ENABLE_CONTROL_FLOW_V2 = False


def check_kinds(kinds: Collection[str], signature: ExportSignature) -> None:
    """Raises if the model can't be exported as one of these kinds; a SavedModel always can be.

    Raises:
        MoxNotSupportedError: a sparse input or output, or a table in a frozen graph.
    """
    tensors = [("inputs_dict", *item) for item in signature.inputs.items()]
    tensors += [("outputs_dict", *item) for item in signature.outputs.items()]
    for kind in (TFLITE, ONNX):
        for role, name, tensor in tensors if kind in kinds else ():
            if isinstance(tensor, tf.SparseTensor):
                raise MoxNotSupportedError(
                    f"The export's {role}[{name!r}] is a SparseTensor, which {kind} does not have."
                    " Use a dense tensor, or export without that kind."
                )
    if FROZEN_GRAPH in kinds:
        _check_no_table(signature)


def _check_no_table(signature: ExportSignature) -> None:
    fed = [part for tensor in signature.inputs.values() for part in components(tensor)]
    for name, tensor in signature.outputs.items():
        for op in behind(components(tensor), fed):
            if op.type.startswith(_TABLES):
                raise MoxNotSupportedError(
                    f"The exported output {name!r} depends on the table {place(op)}, and a frozen"
                    " graph holds no tables. Export without FROZEN_GRAPH: the SavedModel has them."
                )
