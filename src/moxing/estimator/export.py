"""`tf.estimator.export`: the inputs and outputs of a served model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxAttributeError, MoxTypeError, MoxValueError, near_matches, shown
from moxing.estimator.absent import AbsentError

_FEATURE, _RECEIVER = "feature", "input"


class ServingInputReceiver:
    """The placeholders that clients feed to a served model, and the features made from them.

    Args:
        features: a tensor or a dict of tensors, for the model function.
        receiver_tensors: a tensor or a dict of tensors that clients feed.
        receiver_tensors_alternatives: by signature name, other tensors that clients may feed.
    """

    def __init__(
        self,
        features: Any,
        receiver_tensors: Any,
        receiver_tensors_alternatives: Mapping[str, Any] | None = None,
    ) -> None:
        self.features = _checked("features", features)
        self.receiver_tensors = _named(_checked("receiver_tensors", receiver_tensors), _RECEIVER)
        self.receiver_tensors_alternatives = {
            name: _named(_checked("receiver_tensors_alternatives", value), _RECEIVER)
            for name, value in (receiver_tensors_alternatives or {}).items()
        }


class TensorServingInputReceiver(ServingInputReceiver):
    """A ServingInputReceiver whose features are one tensor."""


class ExportOutput:
    """Base class of the outputs that a model function exports under a signature name."""

    method = tf.saved_model.PREDICT_METHOD_NAME

    @property
    def outputs(self) -> dict[str, tf.Tensor]:
        """The tensors that clients get, by name."""
        raise NotImplementedError


class PredictOutput(ExportOutput):
    """An export output of any tensors.

    Args:
        outputs: a tensor or a dict of tensors.
    """

    def __init__(self, outputs: Any) -> None:
        self._outputs = _named(_checked("outputs", outputs), "output")

    @property
    def outputs(self) -> dict[str, tf.Tensor]:
        return dict(self._outputs)


class ClassificationOutput(ExportOutput):
    """An export output with class scores, class names, or both.

    Args:
        scores: a float tensor of shape [batch, classes].
        classes: a string tensor of shape [batch, classes].
    """

    method = tf.saved_model.CLASSIFY_METHOD_NAME

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is None and classes is None:
            raise MoxValueError("ClassificationOutput needs scores, classes or both.")
        if classes is not None and tf.as_dtype(classes.dtype) != tf.string:
            raise MoxValueError(
                f"ClassificationOutput's classes are {classes.dtype.name}; they must be strings."
                " Use PredictOutput for numbers."
            )
        self.scores, self.classes = scores, classes

    @property
    def outputs(self) -> dict[str, tf.Tensor]:
        given = {"scores": self.scores, "classes": self.classes}
        return {name: tensor for name, tensor in given.items() if tensor is not None}


class RegressionOutput(ExportOutput):
    """An export output with one number per example.

    Args:
        value: a float tensor of shape [batch] or [batch, 1].
    """

    method = tf.saved_model.REGRESS_METHOD_NAME

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def outputs(self) -> dict[str, tf.Tensor]:
        return {"outputs": self.value}


def build_raw_serving_input_receiver_fn(
    features: Any, default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Returns a serving_input_receiver_fn for a model whose clients feed the features directly.

    Args:
        features: a tensor or a dict of tensors, of which only types and shapes are used.
        default_batch_size: the size of the first dimension; None: any size.
    """
    known = {
        name: (tensor.dtype, tensor.shape.as_list())
        for name, tensor in _named(_checked("features", features), _FEATURE).items()
    }
    single = not isinstance(features, Mapping)

    def receiver() -> ServingInputReceiver:
        fed = {}
        for name, (dtype, shape) in known.items():
            size = [default_batch_size, *shape[1:]] if shape else shape
            fed[name] = tf.placeholder(dtype, size, name=name)
        made = fed[_FEATURE] if single else fed
        return (TensorServingInputReceiver if single else ServingInputReceiver)(made, fed)

    return receiver


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Returns a serving_input_receiver_fn for clients that feed serialized `tf.train.Example`s.

    Args:
        feature_spec: the features to parse, see `tf.io.parse_example`.
        default_batch_size: the number of examples in a batch; None: any number.
    """

    def receiver() -> ServingInputReceiver:
        examples = tf.placeholder(tf.string, [default_batch_size], name="input_example_tensor")
        features = tf.parse_example(examples, dict(feature_spec))
        return ServingInputReceiver(features, {"examples": examples})

    return receiver


def __getattr__(name: str) -> Any:
    if name == "EvalOutput":
        raise AbsentError(
            "tf.estimator.export.EvalOutput is not supported: only the predictions of a model are"
            " exported. Use tf.estimator.export.PredictOutput, and Estimator.evaluate for metrics."
        )
    if name.startswith("_"):
        raise MoxAttributeError(f"module {__name__!r} has no attribute {name!r}.", name=name)
    public = [known for known in globals() if not known.startswith("_")]
    near = near_matches(name, public)
    raise MoxAttributeError(f"tf.estimator.export has no {name!r}.{near}", name=name)


def _named(value: Any, name: str) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {name: value}


def _checked(what: str, value: Any) -> Any:
    for name, tensor in _named(value, what).items():
        if not isinstance(name, str):
            raise MoxTypeError(f"{what} has the name {shown(name)}; names must be strings.")
        if not isinstance(tensor, tf.Tensor | tf.SparseTensor | tf.RaggedTensor):
            raise MoxTypeError(f"{what}: {name} is {shown(tensor)}; it must be a tensor.")
    if value is None or not _named(value, what):
        raise MoxValueError(f"{what} is empty; give a tensor or a dict of tensors.")
    return value
