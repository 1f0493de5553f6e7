"""Functions that Keras runs eagerly, traced once and built into a v1 graph on its own variables.

Keras' variables live in TensorFlow's eager runtime, which a graph and its session can't reach. So a
function is traced as `tf.function` does, and the graph of the trace is imported with the graph's
variables in the places of Keras'. What the function computes is Keras' own code, all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tensorflow.python.eager import context

from moxing.errors import MoxNotSupportedError


@contextmanager
def eager_mode() -> Iterator[None]:
    """In the block TensorFlow runs eagerly, and nothing of the graph that is being built counts."""
    # Scopes of devices and of variable creators belong to the default graph in this mode too.
    with tf.Graph().as_default(), context.eager_mode():
        yield


@dataclass(frozen=True)
class Traced:
    """A traced function.

    Attributes:
        name: for messages and as the name scope.
        definition: its graph.
        arguments: names of the placeholders of its arguments.
        captures: for each further placeholder its name, and the eager variable or the constant
            array that stands behind it.
        results: names of the tensors of its result, flat.
        structure: the result.
        effects: names of the operations to run for what the function does to variables.
    """

    name: str
    definition: Any
    arguments: tuple[str, ...]
    captures: tuple[tuple[str, Any], ...]
    results: tuple[str, ...]
    structure: Any
    effects: tuple[str, ...]

    @property
    def variables(self) -> list[Any]:
        """The eager variables that the function reads or writes."""
        return [behind for _, behind in self.captures if isinstance(behind, tf2.Variable)]


@dataclass(frozen=True)
class Built:
    """A traced function in a graph.

    Attributes:
        result: of the traced function's structure.
        effects: operations that write variables, and all others that were to be run.
        writes: of `effects`, those that write a variable, with that variable.
    """

    result: Any
    effects: list[tf.Operation]
    writes: list[tuple[tf.Operation, tf.Variable]]


def trace(
    name: str,
    function: Callable[..., Any],
    specs: Sequence[tf.TensorSpec],
    known: Sequence[Any],
) -> Traced:
    """Traces a function of tensors.

    Args:
        name: for messages.
        function: called once, with a tensor for each of `specs`.
        specs: of its arguments.
        known: eager variables that it may use, beside those that TensorFlow notes by itself.

    Raises:
        MoxNotSupportedError: it uses a resource other than variables, such as a lookup table.
    """
    with eager_mode():
        made = tf2.function(function, autograph=False).get_concrete_function(*specs)
        graph: Any = made.graph
        handles = {id(v.handle): v for v in (*graph.variables, *known)}
        inner = graph.inputs[len(graph.inputs) - len(made.captured_inputs) :]
        captures = tuple(
            (placeholder.op.name, _behind(name, captured, handles))
            for placeholder, captured in zip(inner, made.captured_inputs, strict=True)
        )
        structure = made.structured_outputs
        definition = graph.as_graph_def()
    for node in definition.node:
        node.device = ""
    return Traced(
        name,
        definition,
        tuple(t.op.name for t in graph.inputs[: len(graph.inputs) - len(inner)]),
        captures,
        tuple(tensor.name for tensor in graph.outputs),
        structure,
        tuple(op.name for op in graph.control_outputs),
    )


def build(
    traced: Traced, arguments: Sequence[tf.Tensor], variable: Callable[[Any], tf.Variable]
) -> Built:
    """Builds a traced function into the current graph, on the current device.

    Args:
        traced: the function.
        arguments: its arguments.
        variable: the graph's variable for an eager one.
    """
    own = {name: variable(v) for name, v in traced.captures if isinstance(v, tf2.Variable)}
    given: dict[str, tf.Tensor] = {}
    for name, behind in traced.captures:
        given[name] = own[name].handle if name in own else tf.constant(behind)
    given |= dict(zip(traced.arguments, arguments, strict=True))
    wanted = [*traced.results, *traced.effects]
    imported = tf.import_graph_def(
        _placed(traced.definition, own),
        input_map={f"{name}:0": tensor for name, tensor in given.items()},
        return_elements=wanted,
        name=traced.name,
    )
    tensors, effects = imported[: len(traced.results)], imported[len(traced.results) :]
    result = _packed(traced.structure, tensors)
    handles = {v.handle.name: v for v in own.values()}
    writes = [
        (op, handles[tensor.name])
        for op in effects
        if op.type != "ReadVariableOp"
        for tensor in op.inputs
        if tensor.name in handles
    ]
    return Built(result, list(effects), writes)


def _packed(structure: Any, tensors: Sequence[tf.Tensor]) -> Any:
    """The structure with these tensors in the places of its own; what is none stays."""
    if structure is None:
        return None
    left = iter(tensors)
    leaves = tf.nest.flatten(structure, expand_composites=True)
    filled = [next(left) if isinstance(leaf, tf.Tensor) else leaf for leaf in leaves]
    return tf.nest.pack_sequence_as(structure, filled, expand_composites=True)


def _placed(definition: Any, own: dict[str, tf.Variable]) -> Any:
    """The graph with devices: a variable is read where it is, all else computed here."""
    placed = type(definition)()
    placed.CopyFrom(definition)
    here = tf.no_op().device
    for node in placed.node:
        held = next((own[name] for name in node.input if name in own), None)
        node.device = here if held is None else held.device
    return placed


def _behind(name: str, captured: Any, handles: dict[int, Any]) -> Any:
    variable = handles.get(id(captured))
    if variable is not None:
        return variable
    if captured.dtype in (tf.resource, tf.variant):
        raise MoxNotSupportedError(
            f"The model's {name} uses a resource of TensorFlow that is no variable (a lookup table,"
            " as of keras.layers.StringLookup, for example), which can't leave TensorFlow's eager"
            " runtime. Apply such a layer to the data before fit."
        )
    return captured.numpy()
