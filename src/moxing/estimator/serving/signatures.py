"""The signatures of an exported model: the tensors that clients feed and fetch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.estimator.export import ExportOutput, PredictOutput, ServingInputReceiver
from moxing.estimator.modeling.spec import EstimatorSpec

_DEFAULT = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY


def of_model(receiver: ServingInputReceiver, spec: EstimatorSpec) -> dict[str, Any]:
    """Returns a signature for each export output with each alternative of receiver tensors."""
    made = {}
    for name, output in outputs_of(spec).items():
        made[name] = _signature(receiver.receiver_tensors, output)
        for other, fed in receiver.receiver_tensors_alternatives.items():
            made[f"{other}:{name}"] = _signature(fed, output)
    return made


def outputs_of(spec: EstimatorSpec) -> dict[str, ExportOutput]:
    """Returns the export outputs of a model by name, with the default serving signature.

    Raises:
        MoxTypeError: an export output is not an ExportOutput.
        MoxValueError: there are several outputs, and none has the default signature's name.
    """
    outputs = dict(spec.export_outputs or {_DEFAULT: PredictOutput(spec.predictions)})
    for name, output in outputs.items():
        if not isinstance(output, ExportOutput):
            raise MoxTypeError(
                f"export_outputs[{name!r}] is {shown(output)}; it must be a PredictOutput,"
                " ClassificationOutput or RegressionOutput of tf.estimator.export."
            )
    if len(outputs) == 1:
        outputs = {_DEFAULT: next(iter(outputs.values())), **outputs}
    if _DEFAULT not in outputs:
        raise MoxValueError(
            f"export_outputs has {', '.join(map(repr, outputs))} and no {_DEFAULT!r}: give that"
            " name to the output for clients that name no signature."
        )
    return outputs


def _signature(fed: Mapping[str, Any], output: ExportOutput) -> Any:
    string = len(fed) == 1 and next(iter(fed.values())).dtype == tf.string
    # The Classify and Regress methods take serialized examples only.
    method = output.method if string else tf.saved_model.PREDICT_METHOD_NAME
    inputs = {"inputs": next(iter(fed.values()))} if method != _PREDICT else fed
    return tf.saved_model.build_signature_def(
        {name: tf.saved_model.build_tensor_info(tensor) for name, tensor in inputs.items()},
        {name: tf.saved_model.build_tensor_info(t) for name, t in output.outputs.items()},
        method,
    )


_PREDICT = tf.saved_model.PREDICT_METHOD_NAME
