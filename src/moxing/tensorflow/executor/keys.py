"""The names that say how a run runs and what it exports."""

from __future__ import annotations

from typing import Final


class ModeKeys:
    """Modes of a run. `EXPORT` is given to model_fn only, when a model is exported."""

    TRAIN: Final = "TRAIN"
    EVAL: Final = "EVAL"
    PREDICT: Final = "PREDICT"
    EXPORT: Final = "EXPORT"


class ExportKeys:
    """Kinds of exported models.

    TF_SERVING: a SavedModel, as TensorFlow Serving and `tf.saved_model.load` read it. It is always
        written; the others are files beside it, in the same directory.
    FROZEN_GRAPH: frozen_graph.pb, a GraphDef with the variables as constants, and
        frozen_graph.json, the names of its inputs and outputs.
    TFLITE: model.tflite, for TensorFlow Lite.
    ONNX: model.onnx, by the package tf2onnx (`pip install 'openmox[onnx]'`).
    """

    TF_SERVING: Final = "TF_SERVING"
    FROZEN_GRAPH: Final = "FROZEN_GRAPH"
    TFLITE: Final = "TFLITE"
    ONNX: Final = "ONNX"
