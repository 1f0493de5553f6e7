"""Puts rounding behind the weights and the activations of layers."""

from __future__ import annotations

from typing import Any

from moxing.legacy.contrib.quantize.layers import LAYERS, context, is_variable, layers, reroute
from moxing.legacy.contrib.quantize.ranges import Bits, rounded_activations, rounded_weights

_ACTIVATIONS = ("LeakyRelu", "Relu", "Relu6")
_ADDITIONS = ("Add", "AddV2")


def quantize(graph: Any, bits: Bits, delay: int | None, training: bool, scope: str | None) -> None:
    """Rounds the weights of layers, and what layers return.

    Args:
        graph: the graph to change.
        bits: how many bits values get.
        delay: steps before values are rounded; None or 0: they are rounded at once.
        training: whether ranges follow the values, or stay as they were restored.
        scope: only layers under this name scope are changed; None: all.
    """
    how = (bits, training, delay)
    done: set[Any] = set()
    for op in _computed(graph, scope):
        name = context(op).removesuffix("_Fold")
        op._update_input(1, rounded_weights(f"{name}/weights_quant", op.inputs[1], *how))
        _round_output(op.outputs[0], name, how, done)


def _computed(graph: Any, scope: str | None) -> list[Any]:
    # A layer with folded weights stands for the layer that only feeds its batch norm.
    folded = [
        op
        for op in graph.get_operations()
        if op.type in LAYERS and op.inputs[1].op.name.endswith("mul_fold")
    ]
    replaced = {op.name.removesuffix("_Fold") for op in folded}
    plain = [op for op in layers(graph, scope) if op.name not in replaced]
    return folded + plain


def _round_output(tensor: Any, name: str, how: Any, done: set[Any]) -> None:
    tensor = _with_offset(tensor)
    activation = _reader(tensor, _ACTIVATIONS)
    if activation is not None:
        _round(activation.outputs[0], f"{name}/act_quant", how, done)
        return
    addition = _reader(tensor, _ADDITIONS)
    if addition is None:
        _round(tensor, f"{name}/act_quant", how, done)
        return
    # A way around layers: both what is added and the sum are rounded.
    _round(tensor, f"{name}/conv_quant", how, done)
    activation = _reader(addition.outputs[0], _ACTIVATIONS)
    end = (activation or addition).outputs[0]
    _round(end, f"{context(addition)}/{'act' if activation else 'add'}_quant", how, done)


def _with_offset(tensor: Any) -> Any:
    # The output of a layer is what its correction and its bias make of it.
    while True:
        readers = tensor.consumers()
        following = [op for op in readers if op.type == "BiasAdd" or _is_of_layer(op, tensor)]
        if len(readers) != 1 or not following:
            return tensor
        tensor = following[0].outputs[0]


def _is_of_layer(op: Any, tensor: Any) -> bool:
    if "_Fold/" in op.name:
        return True
    others = [each for each in op.inputs if each is not tensor]
    return op.type in _ADDITIONS and len(others) == 1 and is_variable(others[0])


def _reader(tensor: Any, kinds: tuple[str, ...]) -> Any:
    return next((op for op in tensor.consumers() if op.type in kinds), None)


def _round(tensor: Any, name: str, how: Any, done: set[Any]) -> None:
    if tensor.ref() in done:
        return
    done.add(tensor.ref())
    readers = list(tensor.consumers())
    rounded = rounded_activations(name, tensor, *how)
    # The operations that round the tensor go on reading it; all others read the rounded tensor.
    reroute(tensor, rounded, keep=set(tensor.consumers()) - set(readers))
