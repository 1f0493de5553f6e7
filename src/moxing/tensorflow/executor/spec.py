"""What a model function returns: ModelSpec and ExportSpec."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.structure import describe_tensor, is_variable
from moxing.errors import MoxTypeError, MoxValueError, near_matches
from moxing.tensorflow.executor.hooks import AggregativeSessionRunHook

_FIELDS = ("loss", "var_scopes", "log_info", "output_info", "export_spec", "hooks")


class ExportSpec:
    """Inputs and outputs of the exported model.

    Args:
        inputs_dict: tensors of model_fn that a client feeds, by name.
        outputs_dict: tensors of model_fn that a client gets, by name.
        version: directory of the model inside log_dir: a number, -1 for the largest number there
            plus one, or a name such as "model".

    Raises:
        MoxTypeError: a value of the wrong type.
        MoxValueError: no inputs or no outputs.
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
        if isinstance(version, bool) or not isinstance(version, int | str):
            raise MoxTypeError(
                f"ExportSpec: version is {version!r}; give a number, -1 for the next one, or a"
                " name such as 'model'."
            )
        self.version = version


class ModelSpec:
    """What model_fn built.

    Args:
        loss: scalar tensor to minimize, or a list of them; needed in TRAIN.
        var_scopes: for one loss, a list of variable scopes that it may move; for a list of losses,
            a list of such lists. Not given: all variables.
        log_info: scalar tensors by name, printed at log steps in this order; needed in EVAL.
        output_info: tensors by name, handed to output_fn; needed in PREDICT.
        export_spec: an ExportSpec; needed in EXPORT.
        hooks: instances of mox.AggregativeSessionRunHook.

    Raises:
        MoxTypeError: an unknown keyword, or a value of the wrong type.
        MoxValueError: a value of the wrong shape.
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
            raise MoxTypeError(
                f"ModelSpec has no argument {name!r}.{near_matches(name, _FIELDS)} It has:"
                f" {', '.join(_FIELDS)}."
            )
        self.losses = _losses(loss)
        self.several_losses = isinstance(loss, list | tuple)
        self.scopes = _scopes(var_scopes, len(self.losses), self.several_losses)
        self.log_info = _tensors("ModelSpec", "log_info", log_info or {})
        for name, tensor in self.log_info.items():
            _check_scalar(f"log_info[{name!r}]", tensor)
        self.output_info = _tensors("ModelSpec", "output_info", output_info or {})
        if export_spec is not None and not isinstance(export_spec, ExportSpec):
            raise MoxTypeError(
                f"ModelSpec: export_spec is a {_type(export_spec)}; give"
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
    tensor = _tensor("ModelSpec", name, value)
    _check_scalar(name, tensor)
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
            f"ModelSpec: var_scopes is {value!r}; give a list of scope names, such as"
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
            f"ModelSpec: {name} is {value!r}; give a list of scope names, such as ['generator']."
        )
    if not value:
        raise MoxValueError(f"ModelSpec: {name} is empty, so nothing could be trained by its loss.")
    return tuple(value)


def _tensors(owner: str, field: str, value: Any) -> dict[str, tf.Tensor]:
    if not isinstance(value, Mapping):
        raise MoxTypeError(f"{owner}: {field} is a {_type(value)}; give a dict of tensors by name.")
    for key in value:
        if not isinstance(key, str):
            raise MoxTypeError(f"{owner}: {field} has the key {key!r}; keys must be strings.")
    return {key: _tensor(owner, f"{field}[{key!r}]", item) for key, item in value.items()}


def _tensor(owner: str, name: str, value: Any) -> tf.Tensor:
    if is_variable(value):
        return tf.convert_to_tensor(value)
    if isinstance(value, tf.SparseTensor) and name.startswith(("inputs_dict", "outputs_dict")):
        return value
    if not isinstance(value, tf.Tensor):
        raise MoxTypeError(
            f"{owner}: {name} is {_shown(value)}, not a tensor. Give a tf.Tensor that model_fn"
            " built."
        )
    if getattr(value, "graph", None) is not tf.get_default_graph():
        raise MoxValueError(
            f"{owner}: {name} is a tensor of another graph. Each run calls model_fn in a graph of"
            " its own: give a tensor that this call of model_fn built."
        )
    return value


def _check_scalar(name: str, tensor: tf.Tensor) -> None:
    if tensor.shape.rank not in (0, None):
        raise MoxValueError(
            f"ModelSpec: {name} must be a scalar, but {tensor.name} is {describe_tensor(tensor)}."
            " Reduce it, for example with tf.reduce_mean."
        )


def _hooks(hooks: Any) -> tuple[AggregativeSessionRunHook, ...]:
    if hooks is None:
        return ()
    if not isinstance(hooks, list | tuple):
        raise MoxTypeError(f"ModelSpec: hooks is a {_type(hooks)}; give a list of hooks.")
    for index, hook in enumerate(hooks):
        if not isinstance(hook, AggregativeSessionRunHook):
            raise MoxTypeError(
                f"ModelSpec: hooks[{index}] is {_shown(hook)}; hooks must be instances of a"
                " subclass of mox.AggregativeSessionRunHook."
            )
    return tuple(hooks)


def _type(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def _shown(value: Any) -> str:
    if isinstance(value, bool | int | float | str) or value is None:
        return repr(value)
    if isinstance(value, type):
        return f"the class {value.__name__} (call it)"
    return f"a {_type(value)}"
