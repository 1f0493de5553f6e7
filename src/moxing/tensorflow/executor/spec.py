"""ModelSpec and ExportSpec, the results of a model function."""

from __future__ import annotations

import numbers
import operator
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph.structure import describe_tensor, is_variable
from moxing.errors import MoxTypeError, MoxValueError, near_matches, shown
from moxing.tensorflow.executor import instead
from moxing.tensorflow.executor.hooks import AggregativeSessionRunHook

# TensorFlow Serving reads versions as int64 numbers.
_MOST_VERSION = (1 << 63) - 1
_COMPOSITE = (tf.SparseTensor, tf.RaggedTensor, tf.IndexedSlices)
_HANDLES = (tf.resource, tf.variant)
_FIELDS = ("loss", "var_scopes", "log_info", "output_info", "export_spec", "hooks")


class ExportSpec:
    """The inputs and outputs of the exported model.

    Args:
        inputs_dict: the tensors of model_fn that a client feeds, by name.
        outputs_dict: the tensors of model_fn that a client gets, by name.
        version: the directory of the model in log_dir: a number of at least 0, a name such as
            "model", or -1 for the largest existing number plus one.

    Raises:
        MoxTypeError: a value has the wrong type.
        MoxValueError: there are no inputs or no outputs, or the version is an invalid number.
    """

    def __init__(
        self,
        inputs_dict: Mapping[str, tf.Tensor],
        outputs_dict: Mapping[str, tf.Tensor],
        version: int | str = -1,
    ) -> None:
        self.inputs_dict = _tensors("ExportSpec", "inputs_dict", inputs_dict)
        self.outputs_dict = _tensors("ExportSpec", "outputs_dict", outputs_dict)
        for name, value in (("inputs_dict", inputs_dict), ("outputs_dict", outputs_dict)):
            if not value:
                raise MoxValueError(f"ExportSpec: {name} is empty; name at least one tensor.")
        self.version = _version(version)


def _version(value: Any) -> int | str:
    if isinstance(value, str):
        return value
    number = None if isinstance(value, bool) else value
    if not isinstance(number, numbers.Integral):
        raise MoxTypeError(
            f"ExportSpec: version is {shown(value)}; give a number, -1 for the next one, or a"
            " name such as 'model'."
        )
    number = operator.index(number)
    if not -1 <= number <= _MOST_VERSION:
        raise MoxValueError(
            f"ExportSpec: version is {shown(value)}; give a number from 0 to {_MOST_VERSION}, or"
            " -1 for the next one."
        )
    return number


class ModelSpec:
    """The tensors and hooks that model_fn built.

    Args:
        loss: a scalar tensor to minimize, or a list of such tensors; needed in TRAIN.
        var_scopes: for one loss, a list of the variable scopes that its optimizer updates; for a
            list of losses, a list of such lists. None: all variables.
        log_info: scalar tensors by name, printed at log steps in this order; needed in EVAL.
        output_info: tensors by name, passed to output_fn; needed in PREDICT.
        export_spec: an ExportSpec; needed in EXPORT.
        hooks: instances of mox.AggregativeSessionRunHook.

    Raises:
        MoxTypeError: an argument is unknown, or a value has the wrong type.
        MoxValueError: a value has the wrong shape.
    """

    def __init__(
        self,
        loss: tf.Tensor | Sequence[tf.Tensor] | None = None,
        var_scopes: Sequence[Any] | None = None,
        log_info: Mapping[str, tf.Tensor] | None = None,
        output_info: Mapping[str, tf.Tensor] | None = None,
        export_spec: ExportSpec | None = None,
        hooks: Sequence[tf.train.SessionRunHook] | None = None,
        **others: Any,
    ) -> None:
        if "var_scope" in others:
            var_scopes = _renamed("var_scope", "var_scopes", others, var_scopes)
        if "output_dict" in others:
            output_info = _renamed("output_dict", "output_info", others, output_info)
        for name in others:
            advice = instead.in_spec(name) or near_matches(name, _FIELDS)
            raise MoxTypeError(
                f"ModelSpec has no argument {name!r}.{advice} It has: {', '.join(_FIELDS)}."
            )
        self.losses = _losses(loss)
        self.several_losses = isinstance(loss, list | tuple)
        self.scopes = _scopes(var_scopes, len(self.losses), self.several_losses)
        self.log_info = {
            name: _logged(f"log_info[{name!r}]", tensor)
            for name, tensor in _tensors("ModelSpec", "log_info", log_info).items()
        }
        self.output_info = _tensors("ModelSpec", "output_info", output_info)
        if export_spec is not None and not isinstance(export_spec, ExportSpec):
            raise MoxTypeError(
                f"ModelSpec: export_spec is {describe(export_spec)}; give"
                " mox.ExportSpec(inputs_dict={...}, outputs_dict={...})."
            )
        self.export_spec = export_spec
        self.hooks = _hooks(hooks)


def _renamed(old: str, new: str, others: dict[str, Any], value: Any) -> Any:
    given = others.pop(old)
    if value is not None:
        raise MoxTypeError(f"ModelSpec: give {new} or its old name {old}, not both.")
    warnings.warn(
        f"ModelSpec: {old} is an old name of {new}; use {new}.", FutureWarning, stacklevel=3
    )
    return given


def _losses(loss: Any) -> tuple[tf.Tensor, ...]:
    if loss is None:
        return ()
    if isinstance(loss, list | tuple):
        if not loss:
            raise MoxValueError("ModelSpec: loss is an empty list; give at least one loss.")
        items = [(f"loss[{index}]", item) for index, item in enumerate(loss)]
    else:
        items = [("loss", loss)]
    return tuple(_loss(name, item) for name, item in items)


def _loss(name: str, value: Any) -> tf.Tensor:
    tensor = _scalar(name, _tensor("ModelSpec", name, value))
    if not tensor.dtype.base_dtype.is_floating:
        raise MoxValueError(
            f"ModelSpec: {name} is {tensor.dtype.base_dtype.name}; a loss must be a floating-point"
            " scalar."
        )
    return tensor


def _scopes(value: Any, losses: int, several: bool) -> tuple[tuple[str, ...], ...]:
    if value is None:
        return ((),) * losses
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise MoxTypeError(
            f"ModelSpec: var_scopes is {shown(value)}; give a list of scope names, such as"
            " ['generator'], or for a list of losses a list of such lists."
        )
    if not several:
        return (_scope_names("var_scopes", value),)
    if len(value) != losses:
        raise MoxValueError(
            f"ModelSpec: var_scopes has {len(value)} entries for {losses} losses; var_scopes[i] is"
            " the list of scopes that loss[i] may move."
        )
    return tuple(_scope_names(f"var_scopes[{i}]", item) for i, item in enumerate(value))


def _scope_names(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise MoxTypeError(
            f"ModelSpec: {name} is {shown(value)}; give a list of scope names, such as"
            " ['generator']."
        )
    if not value:
        raise MoxValueError(f"ModelSpec: {name} is empty, so nothing could be trained by its loss.")
    return tuple(value)


def _tensors(owner: str, field: str, value: Any) -> dict[str, tf.Tensor]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise MoxTypeError(
            f"{owner}: {field} is {describe(value)}; give a dict of tensors by name."
        )
    for key in value:
        if not isinstance(key, str) or not key:
            raise MoxTypeError(
                f"{owner}: {field} has the key {shown(key)}; keys are names: strings, not empty."
            )
    return {key: _tensor(owner, f"{field}[{key!r}]", item) for key, item in value.items()}


def _tensor(owner: str, name: str, value: Any) -> tf.Tensor:
    if is_variable(value) or _is_lazy(value):
        return tf.convert_to_tensor(value)
    if isinstance(value, tf.SparseTensor) and name.startswith(("inputs_dict", "outputs_dict")):
        return value
    if not isinstance(value, tf.Tensor) or value.dtype.base_dtype in _HANDLES:
        raise MoxTypeError(
            f"{owner}: {name} is {describe(value)}, not a tensor with values. Give a tf.Tensor that"
            " model_fn built."
        )
    if getattr(value, "graph", None) is not tf.get_default_graph():
        raise MoxValueError(
            f"{owner}: {name} is a tensor of another graph. Each run calls model_fn in a graph of"
            " its own: give a tensor that this call of model_fn built."
        )
    return value


def _is_lazy(value: Any) -> bool:
    """Whether `value` is a regularization loss, which TensorFlow computes at its first read."""
    return tf.is_tensor(value) and not isinstance(value, (tf.Tensor, *_COMPOSITE))


def _logged(name: str, value: tf.Tensor) -> tf.Tensor:
    tensor = _scalar(name, value)
    dtype = tensor.dtype.base_dtype
    if not (dtype.is_floating or dtype.is_integer or dtype.is_bool):
        raise MoxTypeError(
            f"ModelSpec: {name} is {dtype.name}, and only a number can be logged. Put it into"
            " output_info, or log a number that is made of it."
        )
    return tensor


def _scalar(name: str, tensor: tf.Tensor) -> tf.Tensor:
    if tensor.shape.rank not in (0, None):
        raise MoxValueError(
            f"ModelSpec: {name} must be a scalar, but {tensor.name} is {describe_tensor(tensor)}."
            " Reduce it, for example with tf.reduce_mean."
        )
    # If the rank is unknown before the run, the first step with another rank raises an error.
    return tensor if tensor.shape.rank == 0 else tf.ensure_shape(tensor, [])


def _hooks(hooks: Any) -> tuple[AggregativeSessionRunHook, ...]:
    if hooks is None:
        return ()
    if not isinstance(hooks, list | tuple):
        raise MoxTypeError(f"ModelSpec: hooks is {describe(hooks)}; give a list of hooks.")
    for index, hook in enumerate(hooks):
        if not isinstance(hook, AggregativeSessionRunHook):
            raise MoxTypeError(
                f"ModelSpec: hooks[{index}] is {describe(hook)}; hooks must be instances of a"
                " subclass of mox.AggregativeSessionRunHook."
            )
    return tuple(hooks)


def describe(value: Any) -> str:
    """Describes a value for messages: small values as they are, others by their type."""
    if isinstance(value, bool | int | float | str | bytes) or value is None:
        return shown(value)
    if isinstance(value, type):
        return f"the class {value.__name__} (call it)"
    if isinstance(value, tf.Tensor):
        return f"the {value.dtype.base_dtype.name} tensor {value.name}"
    kind = type(value)
    return f"a {kind.__module__}.{kind.__qualname__}".replace("a builtins.", "a ")
