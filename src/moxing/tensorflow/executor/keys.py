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

    TF_SERVING: a SavedModel, as TensorFlow Serving and `tf.saved_model.load` read it.
    """

    TF_SERVING: Final = "TF_SERVING"
