"""Traces functions that Keras runs eagerly, and builds them into a v1 graph with its variables.

Keras' variables live in TensorFlow's eager runtime, which a graph and its session can't reach. So
`tf.function` traces a function, and the traced graph is imported into the run's graph with that
graph's variables in place of Keras' variables. All computations are Keras' own code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tensorflow.python.eager import context

from moxing.errors import MoxNotSupportedError
from moxing.keras.building import tables
from moxing.keras.building.tables import Table

# These operations only read the variables that they take.
READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape")


@contextmanager
def eager_mode() -> Iterator[None]:
    """In the block, TensorFlow runs eagerly, without the scopes of the graph being built."""
    # Even in eager mode, scopes of devices and of variable creators belong to the default graph.
    with tf.Graph().as_default(), context.eager_mode():
        yield


@dataclass(frozen=True)
class Traced:
    """A traced function.

    Attributes:
        name: the function's name in messages and its name scope.
        definition: the GraphDef of the function.
        arguments: the names of the placeholders of the arguments.
        captures: pairs of the name of each further placeholder and the captured value, an eager
            variable, the content of a lookup table, or a constant array.
        results: the names of the tensors of the flattened result.
        structure: the result as the function returned it.
        effects: the names of the operations that must run for side effects on variables.
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
        graph: the graph.
        result: the result, in the structure that the function returned.
        effects: the operations that must run for their side effects, such as writes of variables.
        writes: pairs of each operation in `effects` that uses a variable other than by a read, and
            that variable.
        reads: pairs of each operation that reads a variable before the function writes the
            variable, and that variable.
    """

    graph: tf.Graph
    result: Any
    effects: list[tf.Operation]
    writes: list[tuple[tf.Operation, tf.Variable]]
    reads: list[tuple[tf.Operation, tf.Variable]]


def trace(
    name: str,
    function: Callable[..., Any],
    specs: Sequence[tf.TensorSpec],
    known: Sequence[Any],
) -> Traced:
    """Traces a function of tensors.

    Args:
        name: the function's name in messages.
        function: called once, with a tensor for each of `specs`.
        specs: the specs of the arguments.
        known: eager variables that the function may use, in addition to the ones that TensorFlow
            records by itself.

    Raises:
        MoxNotSupportedError: the function uses a resource that is neither a variable nor a lookup
            table that is only read.
    """
    with eager_mode():
        made = tf2.function(function, autograph=False).get_concrete_function(*specs)
        graph: Any = made.graph
        handles = {id(v.handle): v for v in (*graph.variables, *known)}
        inner = graph.inputs[len(graph.inputs) - len(made.captured_inputs) :]
        captures = tuple(
            (placeholder.op.name, _behind(name, placeholder, captured, handles))
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
        traced: the traced function.
        arguments: the tensors of the arguments.
        variable: returns the graph variable that stands for an eager variable.
    """
    own = {name: variable(v) for name, v in traced.captures if isinstance(v, tf2.Variable)}
    given: dict[str, tf.Tensor] = {}
    hosts: dict[str, str] = {name: held.device for name, held in own.items()}
    for name, behind in traced.captures:
        if isinstance(behind, Table):
            given[name] = behind.make()
            hosts[name] = given[name].device
        else:
            given[name] = own[name].handle if name in own else tf.constant(behind)
    given |= dict(zip(traced.arguments, arguments, strict=True))
    wanted = [*traced.results, *traced.effects]
    earlier = {op.name for v in own.values() for op in v.handle.consumers()}
    imported = tf.import_graph_def(
        _placed(traced.definition, hosts),
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
        if op.type not in READS
        for tensor in op.inputs
        if tensor.name in handles
    ]
    return Built(
        tf.get_default_graph(), result, list(effects), writes, _reads(own.values(), earlier)
    )


def _reads(
    variables: Iterable[tf.Variable], earlier: Collection[str]
) -> list[tuple[tf.Operation, tf.Variable]]:
    """Returns the reads of variables, except earlier reads and reads that wait for a write."""
    found = []
    for variable in variables:
        new = [op for op in variable.handle.consumers() if op.name not in earlier]
        reads = [op for op in new if op.type in READS]
        writes = [op for op in new if op.type not in READS]
        found += [(op, variable) for op in reads if not set(op.control_inputs) & set(writes)]
    return found


def _packed(structure: Any, tensors: Sequence[tf.Tensor]) -> Any:
    """Returns the structure with its tensors replaced in order; other leaves stay."""
    if structure is None:
        return None
    left = iter(tensors)
    leaves = tf.nest.flatten(structure, expand_composites=True)
    filled = [next(left) if isinstance(leaf, tf.Tensor) else leaf for leaf in leaves]
    return tf.nest.pack_sequence_as(structure, filled, expand_composites=True)


def _placed(definition: Any, hosts: dict[str, str]) -> Any:
    """Returns the graph with devices: operations on a resource run on its device, others here."""
    placed = type(definition)()
    placed.CopyFrom(definition)
    here = tf.no_op().device
    for node in placed.node:
        node.device = next((hosts[name] for name in node.input if name in hosts), here)
    return placed


def _behind(name: str, placeholder: tf.Tensor, captured: Any, handles: dict[int, Any]) -> Any:
    variable = handles.get(id(captured))
    if variable is not None:
        return variable
    if captured.dtype not in (tf.resource, tf.variant):
        return captured.numpy()
    table = tables.content(placeholder, captured) if captured.dtype == tf.resource else None
    if table is None:
        raise MoxNotSupportedError(
            f"The model's {name} uses a resource of TensorFlow that is neither a variable nor a"
            " lookup table that is only read, and that can't leave TensorFlow's eager runtime."
            " Apply the layer that uses it to the data before fit."
        )
    return table
