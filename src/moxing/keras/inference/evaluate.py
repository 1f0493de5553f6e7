"""`moxing.keras.evaluate`: a Keras model's metrics, computed on several devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.wording import report
from moxing.errors import MoxTypeError, MoxValueError
from moxing.keras import as_keras
from moxing.keras.building import families
from moxing.keras.building.trace import eager_mode
from moxing.keras.building.variables import METRIC
from moxing.keras.epochs import flat
from moxing.keras.inference.run import Pass, Reading, begin
from moxing.logs import TENSORFLOW


def evaluate(
    model: Any,
    x: Any,
    y: Any = None,
    batch_size: int | None = None,
    *,
    sample_weight: Any = None,
    steps: int | None = None,
    num_gpus: int | None = None,
    verbose: Any = "auto",
) -> dict[str, float]:
    """Computes the loss and metrics of a model on data, with the result of its own `evaluate`.

    Each device takes whole batches in turn and runs the model's `test_step` on them; then the
    states of the metrics are added up. So metrics whose state can't be added up, such as a maximum
    over batches, need one device. A process of a cluster evaluates all data by itself, whatever
    the others do: `if moxing.keras.is_chief()` may stand around the call.

    Args:
        model: a compiled Keras 3 (on TensorFlow) or tf_keras model.
        x: arrays of samples, or all data in a form that `train_data` of `fit` has: (x, y), a
            Dataset, a Sequence or generator, or a function that returns one of these.
        y: the labels, beside arrays in `x`.
        batch_size: the number of samples in a batch. Default 32 for arrays. With a Dataset, its
            elements are single samples.
        sample_weight: the weights of the samples, beside arrays in `x`.
        steps: the number of batches to evaluate; default: all.
        num_gpus: the number of devices; see `fit`.
        verbose: 0 leaves the log line out that tells the result.

    Returns:
        The loss and metrics by name, as `Model.evaluate(return_dict=True)` returns them.

    Raises:
        MoxTypeError, MoxValueError: the data has no supported form, does not fit the model, or has
            no end while `steps` is None.
        MoxNotSupportedError: the model keeps state from batch to batch, and has several devices.
    """
    family = begin("evaluate", model)
    if getattr(model, "loss", None) is None and not getattr(model, "compiled", False):
        raise MoxValueError("The model is not compiled: call model.compile(loss=...) first.")
    if y is not None or sample_weight is not None:
        x = as_keras.joined(x, y, sample_weight, "evaluate", "x")
    if x is None:
        raise MoxTypeError("moxing.keras.evaluate has x=None: pass the data to evaluate on.")
    over_data = Pass("evaluate", family, model, Reading(x, batch_size, steps, num_gpus))

    def collect(session: tf.Session) -> None:
        variables = over_data.applied.variables
        assert variables is not None
        held = variables.of_kind(METRIC)
        values = session.run([one.graph for one in held])
        sums = [np.sum(np.stack(parts), axis=0) for parts in values]
        families.write([one.eager for one in held], sums)

    done = over_data.run(end=collect)
    with eager_mode():
        found = flat(model.get_metrics_result())
        values = {name: float(value) for name, value in found.items()}
        model.reset_metrics()
    if verbose != 0:
        TENSORFLOW.info("%s", report.evaluated(done.seconds, values))
    return values
