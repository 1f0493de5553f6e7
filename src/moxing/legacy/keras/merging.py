"""`keras.layers.merge`: Keras 1's function, and the module of merging layers."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from moxing.errors import MoxNotSupportedError, MoxValueError, shown

MODES = {
    "sum": "Add",
    "mul": "Multiply",
    "ave": "Average",
    "max": "Maximum",
}


def merge(
    inputs: Any,
    mode: Any = "sum",
    dot_axes: Any = -1,
    concat_axis: int = -1,
    output_shape: Any = None,
    name: str | None = None,
    **others: Any,
) -> Any:
    """Merges tensors as Keras 1 did.

    Args:
        inputs: tensors.
        mode: sum, mul, concat, ave, max, dot, cos, or a function of the list of tensors.
        dot_axes: the axes of dot and cos.
        concat_axis: the axis of concat.
        output_shape: the shape of a function's result; None to read it from the result.
        name: the name of the layer.
        **others: not used; Keras 1's node_indices and masks.

    Raises:
        MoxValueError: another mode.
    """
    from tf_keras import layers

    del others
    if callable(mode):
        return layers.Lambda(mode, output_shape=output_shape, name=name)(inputs)
    if mode == "concat":
        return layers.Concatenate(axis=concat_axis, name=name)(inputs)
    if mode in ("dot", "cos"):
        axes = tuple(dot_axes) if isinstance(dot_axes, list) else dot_axes
        return layers.Dot(axes=axes, normalize=mode == "cos", name=name)(inputs)
    if mode not in MODES:
        known = ", ".join([*MODES, "concat", "dot", "cos"])
        raise MoxValueError(f"merge has mode={shown(mode)}; it is one of {known} or a function.")
    return getattr(layers, MODES[mode])(name=name)(inputs)


def merge_layer() -> Callable[..., Any]:
    """Returns a stand-in for `Merge`, which took models and is not supported."""

    def Merge(*given: Any, **named: Any) -> Any:  # noqa: N802
        raise MoxNotSupportedError(
            "Merge([model_a, model_b]) of Keras 1 is gone since Keras 2. Use a functional model:"
            " x = keras.layers.concatenate([a.output, b.output]);"
            " keras.models.Model([a.input, b.input], output)."
        )

    return Merge


class _Callable(types.ModuleType):
    """A module that programs of Keras 1 call like a function."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        return merge(*given, **named)

    def __getattr__(self, name: str) -> Any:
        from tf_keras.src.layers import merging
        from tf_keras.src.layers.merging import base_merge

        for module in (merging, base_merge):
            if not name.startswith("__") and hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"module 'keras.layers.merge' has no attribute {name!r}")


sys.modules[__name__].__class__ = _Callable
