"""`tf.contrib.receptive_field`: how much of an input one element of a convolutional output sees."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import tensorflow.compat.v1 as tf

# The operations of one element of an input, and those that only say sizes.
_POINTWISE = frozenset(
    [
        "Abs",
        "Add",
        "AddN",
        "AddV2",
        "BiasAdd",
        "Cast",
        "Ceil",
        "Clip",
        "ClipByValue",
        "ConcatV2",
        "Concat",
        "Const",
        "Elu",
        "Exp",
        "Floor",
        "FusedBatchNorm",
        "FusedBatchNormV2",
        "FusedBatchNormV3",
        "GreaterEqual",
        "Identity",
        "LeakyRelu",
        "LRN",
        "Log",
        "Maximum",
        "Minimum",
        "Mul",
        "Neg",
        "Placeholder",
        "PlaceholderWithDefault",
        "Pow",
        "RealDiv",
        "ReadVariableOp",
        "Relu",
        "Relu6",
        "Round",
        "Rsqrt",
        "Selu",
        "Sigmoid",
        "Softplus",
        "Square",
        "Sqrt",
        "Sub",
        "Switch",
        "Merge",
        "Tanh",
        "VarHandleOp",
        "Variable",
        "VariableV2",
    ]
)
_CONVOLUTIONS = frozenset({"Conv2D", "DepthwiseConv2dNative"})
_POOLS = frozenset({"AvgPool", "MaxPool"})
# Operations whose first input alone carries the picture.
_PADS = frozenset({"Pad", "PadV2", "MirrorPad"})
_ONE_PICTURE = _CONVOLUTIONS | _POOLS | _PADS | {"BiasAdd"}


class ReceptiveField:
    """The receptive field of an output, by (x, y).

    `size`, `stride` and `padding` are arrays of two numbers. Iterated, a receptive field gives
    size, stride and padding of x and y: six numbers.
    """

    def __init__(self, size: Any, stride: Any, padding: Any) -> None:
        self.size = np.asarray(size)
        self.stride = np.asarray(stride)
        self.padding = np.asarray(padding)

    def compute_input_center_coordinates(self, y: Any, axis: Any = None) -> np.ndarray:
        """Returns the input positions, (elements, axes), that output positions look at.

        Args:
            y: positions in the output, (elements, axes).
            axis: the numbers of the axes of `y`; default: all.

        Raises:
            ValueError: `y` has another number of axes.
        """
        picked, y = _of_axes(y, axis)
        reach = (self.size[picked] - 1) / 2
        return -self.padding[picked] + y * self.stride[picked] + reach

    def compute_feature_coordinates(self, x: Any, axis: Any = None) -> np.ndarray:
        """Returns the output positions, (elements, axes), that look at input positions.

        Args:
            x: positions in the input, (elements, axes).
            axis: the numbers of the axes of `x`; default: all.

        Raises:
            ValueError: `x` has another number of axes.
        """
        picked, x = _of_axes(x, axis)
        reach = (1 - self.size[picked]) / 2
        return (x + self.padding[picked] + reach) / self.stride[picked]

    def __iter__(self) -> Iterator[Any]:
        return chain(self.size.tolist(), self.stride.tolist(), self.padding.tolist())


def _of_axes(positions: Any, axis: Any) -> tuple[Any, np.ndarray]:
    picked = list(range(2)) if axis is None else list(axis)
    positions = np.asarray(positions)
    if positions.shape[1] != len(picked):
        raise ValueError(
            f"The dimensionality of the coordinates {positions.shape[1]} does not match the"
            f" dimensionality of `axis` {len(picked)}"
        )
    return picked, positions


class _Field(NamedTuple):
    """The field of one axis, seen from the output."""

    size: int
    stride: int
    padding: int | None


class _Layer(NamedTuple):
    """The part of one operation along one axis; `padding` is None where a resolution decides."""

    kernel: int
    stride: int
    padding: int | None


def compute_receptive_field_from_graph_def(
    graph_def: Any,
    input_node: str,
    output_node: str,
    stop_propagation: Iterable[str] | None = None,
    input_resolution: Any = None,
) -> ReceptiveField:
    """Computes size, stride and padding of the receptive field of `output_node` in `input_node`.

    Args:
        graph_def: a GraphDef, or a Graph, of convolutions and poolings in the layout NHWC or NCHW.
        input_node: the name of the operation of the input.
        output_node: the name of the operation of the output.
        stop_propagation: names of operations beyond which no field is counted; default: none.
        input_resolution: (height, width) of the input, which tell the padding of layers with
            SAME and strides; default: the resolution is unknown, and such paddings are None.

    Raises:
        ValueError: the graph lacks a name, an operation is neither pointwise nor a convolution
            or pooling, or two ways to the input are not aligned.
    """
    if isinstance(graph_def, tf.Graph):
        graph_def = graph_def.as_graph_def()
    nodes = {node.name: node for node in graph_def.node}
    for name, role in ((input_node, "Input"), (output_node, "Output")):
        if name not in nodes:
            raise ValueError(f"{role} node was not found: the graph has no operation '{name}'")
    order = _order(nodes, input_node, output_node)
    if input_node not in order:
        raise ValueError(f"Output node '{output_node}' does not depend on '{input_node}'")
    sizes = _resolutions(nodes, order, input_node, input_resolution)
    fields: dict[str, tuple[_Field, _Field]] = {output_node: (_Field(1, 1, 0), _Field(1, 1, 0))}
    stops = set(stop_propagation or ())
    for name in reversed(order):
        # An operation that only leads past a stop has no field of its own.
        if name == input_node or name not in fields or name in stops:
            continue
        layer = _layer(nodes, nodes[name], sizes)
        seen = tuple(_through(field, part) for field, part in zip(fields[name], layer, strict=True))
        for source in _pictures(nodes[name]):
            if source in order:
                fields[source] = _joined(source, fields.get(source), seen)  # type: ignore[arg-type]
    if input_node not in fields:
        raise ValueError(f"Output node '{output_node}' reaches '{input_node}' past a stop only")
    y, x = fields[input_node]
    return ReceptiveField((x.size, y.size), (x.stride, y.stride), (x.padding, y.padding))


def _pictures(node: Any) -> list[str]:
    names = [name.split(":")[0] for name in node.input if not name.startswith("^")]
    if node.op in _ONE_PICTURE or node.op.startswith("FusedBatchNorm"):
        return names[:1]
    return names


def _order(nodes: dict[str, Any], first: str, last: str) -> list[str]:
    # Every operation on a way from the input to the output, each after its own inputs.
    leads: dict[str, bool] = {}
    order: list[str] = []
    stack = [(last, False)]
    while stack:
        name, ready = stack.pop()
        if ready:
            sources = [] if name == first else _pictures(nodes[name])
            leads[name] = name == first or any(leads.get(source) for source in sources)
            if leads[name]:
                order.append(name)
        elif name not in leads and name in nodes:
            leads[name] = False
            stack.append((name, True))
            if name != first:
                stack.extend((source, False) for source in _pictures(nodes[name]))
    return order


def _through(field: _Field, layer: _Layer) -> _Field:
    known = field.padding is not None and layer.padding is not None
    return _Field(
        layer.stride * field.size + (layer.kernel - layer.stride),
        layer.stride * field.stride,
        layer.stride * field.padding + layer.padding if known else None,  # type: ignore[operator]
    )


def _joined(
    name: str, known: tuple[_Field, _Field] | None, seen: tuple[_Field, _Field]
) -> tuple[_Field, _Field]:
    if known is None:
        return seen
    both = zip(known, seen, strict=True)
    return tuple(_wider(name, one, other) for one, other in both)  # type: ignore[return-value]


def _wider(name: str, one: _Field, other: _Field) -> _Field:
    if one.stride != other.stride:
        raise ValueError(
            f"Graph is not aligned: effective strides at '{name}' are {one.stride} and"
            f" {other.stride}"
        )
    if one.padding is None or other.padding is None:
        return _Field(max(one.size, other.size), one.stride, None)
    # Two ways are aligned if the middles of their fields are one place.
    if one.size - 2 * one.padding != other.size - 2 * other.padding:
        raise ValueError(
            f"Graph is not aligned: the centers of the receptive fields at '{name}' differ"
        )
    return max(one, other, key=lambda field: field.size)


def _layer(nodes: dict[str, Any], node: Any, sizes: dict[str, Any]) -> tuple[_Layer, _Layer]:
    if node.op in _CONVOLUTIONS | _POOLS:
        place = 2 if node.attr["data_format"].s == b"NCHW" else 1
        strides = list(node.attr["strides"].list.i)[place : place + 2]
        kernels = _kernels(nodes, node, place)
        at = sizes.get(_pictures(node)[0], (None, None))
        return tuple(
            _Layer(kernel, stride, _padding(node, kernel, stride, size))
            for kernel, stride, size in zip(kernels, strides, at, strict=True)
        )  # type: ignore[return-value]
    if node.op in _PADS:
        return tuple(_Layer(1, 1, int(pad[0])) for pad in _pads(nodes, node))  # type: ignore[return-value]
    if node.op not in _POINTWISE:
        raise ValueError(f"Unknown layer for operation '{node.name}': {node.op}")
    return (_Layer(1, 1, 0), _Layer(1, 1, 0))


def _kernels(nodes: dict[str, Any], node: Any, place: int) -> list[int]:
    if node.op in _POOLS:
        return list(node.attr["ksize"].list.i)[place : place + 2]
    kernel = node.input[1].split(":")[0]
    # The weights lie behind reads and other operations that keep their shape.
    while nodes[kernel].op in ("Identity", "ReadVariableOp", "Enter"):
        kernel = nodes[kernel].input[0].split(":")[0]
    holder = nodes[kernel]
    if holder.op == "Const":
        shape = list(holder.attr["value"].tensor.tensor_shape.dim)
    else:
        shape = list(holder.attr["shape"].shape.dim)
    if len(shape) != 4:
        raise ValueError(f"The kernel of '{node.name}' has no known shape: '{kernel}'")
    rates = list(node.attr["dilations"].list.i)[place : place + 2] or [1, 1]
    return [(size.size - 1) * rate + 1 for size, rate in zip(shape[:2], rates, strict=True)]


def _padding(node: Any, kernel: int, stride: int, size: int | None) -> int | None:
    if node.attr["padding"].s == b"VALID":
        return 0
    rests = range(stride) if size is None else (size % stride,)
    paddings = {max(0, kernel - (rest or stride)) // 2 for rest in rests}
    return paddings.pop() if len(paddings) == 1 else None


def _pads(nodes: dict[str, Any], node: Any) -> np.ndarray:
    # Before and after the rows and the columns: the axis that isn't padded is that of channels.
    pads = _constant(nodes, node.input[1], node)
    return pads[1:3] if pads[1].any() or not pads[3].any() else pads[2:4]


def _constant(nodes: dict[str, Any], name: str, node: Any) -> np.ndarray:
    holder = nodes[name.split(":")[0]]
    if holder.op != "Const":
        raise ValueError(f"The padding of '{node.name}' is not a constant: '{holder.name}'")
    return tf.make_ndarray(holder.attr["value"].tensor)


def _resolutions(
    nodes: dict[str, Any], order: list[str], input_node: str, resolution: Any
) -> dict[str, Any]:
    # (height, width) of the output of each operation, as far as they are known.
    if resolution is None:
        return {}
    sizes: dict[str, Any] = {input_node: tuple(resolution)}
    for name in order:
        if name == input_node:
            continue
        node = nodes[name]
        source = next(each for each in _pictures(node) if each in sizes)
        layers = _layer(nodes, node, sizes)
        sizes[name] = tuple(
            _after(node, layer, size) for layer, size in zip(layers, sizes[source], strict=True)
        )
        if node.op in _PADS:
            more = _pads(nodes, node).sum(1).tolist()
            sizes[name] = tuple(sum(each) for each in zip(sizes[name], more, strict=True))
    return sizes


def _after(node: Any, layer: _Layer, size: int) -> int:
    if node.op in _CONVOLUTIONS | _POOLS and node.attr["padding"].s == b"VALID":
        return math.ceil((size - layer.kernel + 1) / layer.stride)
    return math.ceil(size / layer.stride)
