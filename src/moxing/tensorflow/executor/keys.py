"""The names of the modes of a run, and of the kinds of exported models."""

from __future__ import annotations

from typing import Final


class ModeKeys:
    """The modes of a run. `EXPORT` is passed only to model_fn, when a model is exported."""

    TRAIN: Final = "TRAIN"
    EVAL: Final = "EVAL"
    PREDICT: Final = "PREDICT"
    EXPORT: Final = "EXPORT"


class ExportKeys:
    """The kinds of exported models.

    TF_SERVING: a SavedModel for TensorFlow Serving and `tf.saved_model.load`. It is always
        written; the other kinds are additional files in its directory.
    FROZEN_GRAPH: frozen_graph.pb, a GraphDef with the variables as constants, and
        frozen_graph.json with the names of its inputs and outputs.
    TFLITE: model.tflite, for TensorFlow Lite.
    ONNX: model.onnx, by the package tf2onnx (`pip install 'openmox[onnx]'`).
    """

    TF_SERVING: Final = "TF_SERVING"
    FROZEN_GRAPH: Final = "FROZEN_GRAPH"
    TFLITE: Final = "TFLITE"
    ONNX: Final = "ONNX"
