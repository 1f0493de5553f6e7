"""`moxing.keras.predict`: a Keras model's predictions, computed on several devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.graph.structure import is_dataset
from moxing.engine.wording import report
from moxing.errors import MoxTypeError, MoxValueError
from moxing.keras.generated import is_generated
from moxing.keras.inference.run import Pass, Reading, begin
from moxing.logs import TENSORFLOW


def predict(
    model: Any,
    x: Any,
    batch_size: int | None = None,
    *,
    steps: int | None = None,
    num_gpus: int | None = None,
    verbose: Any = "auto",
) -> Any:
    """Computes the outputs of a model for data, with the result of its own `predict`.

    Each device takes whole batches in turn and runs the model's `predict_step` on them; the
    predictions come in the order of the data. A process of a cluster predicts all data by itself.

    Args:
        model: a Keras 3 (on TensorFlow) or tf_keras model, which need not be compiled.
        x: an array of samples along the first axis; a list or dict of arrays for several inputs; a
            Dataset, Sequence or generator of batches x, (x, y) or (x, y, sample_weight), of which
            x is used; or a function that returns one of these.
        batch_size: the number of samples in a batch. Default 32 for arrays. With a Dataset, its
            elements are single samples.
        steps: the number of batches; default: all.
        num_gpus: the number of devices; see `fit`.
        verbose: 0 leaves the log line out that tells the number of samples.

    Returns:
        An array with a row for each sample, or, for a model of several outputs, arrays in the
        structure of its outputs.

    Raises:
        MoxTypeError, MoxValueError: the data has no supported form, does not fit the model, or has
            no end while `steps` is None.
        MoxNotSupportedError: the model keeps state from batch to batch, and has several devices, or
            its predictions are ragged or sparse.
    """
    family = begin("predict", model)
    if x is None:
        raise MoxTypeError("moxing.keras.predict has x=None: pass the data to predict for.")
    if not (callable(x) or is_dataset(x) or is_generated(x)):
        x = (list(x) if isinstance(x, tuple) else x,)
    over_data = Pass("predict", family, model, Reading(x, batch_size, steps, num_gpus))
    parts: list[dict[str, np.ndarray]] = []
    done = over_data.run(take=parts.extend)
    joined = [_joined([part[name] for part in parts]) for name in sorted(parts[0])]
    if verbose != 0:
        TENSORFLOW.info("%s", report.predicted(len(joined[0]), done.seconds))
    return tf.nest.pack_sequence_as(over_data.applied.structure, joined)


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    """Joins the predictions of all batches.

    Raises:
        MoxValueError: the predictions have no row for each sample, or rows of different shapes.
    """
    try:
        return np.concatenate(arrays, axis=0)
    except ValueError as error:
        shapes = sorted({array.shape for array in arrays})[:3]
        raise MoxValueError(
            f"The predictions of batches have the shapes {shapes}, which can't be joined along"
            " their first axis: each batch must give a row for each sample, of one shape. Fill"
            " them up in the model, or call predict for each batch."
        ) from error
