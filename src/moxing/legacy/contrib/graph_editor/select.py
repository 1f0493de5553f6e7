"""Selects operations and tensors of a graph by name, scope or dependency."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError


def flat(values: Any) -> Iterator[Any]:
    """Yields the operations and tensors of nested collections."""
    if isinstance(values, (tf.Operation, tf.Tensor, str)) or hasattr(values, "op"):
        yield values
    elif values is not None:
        for value in values:
            yield from flat(value)


def unique(values: Iterable[Any]) -> list[Any]:
    """Returns the values in order, without duplicates."""
    return list({id(value): value for value in values}.values())


def make_list_of_op(ops: Any, check_graph: bool = True, allow_graph: bool = True, **_: Any) -> Any:
    """Returns the operations of a graph, or of nested collections of operations and tensors."""
    if isinstance(ops, tf.Graph):
        return ops.get_operations()
    return unique(value if isinstance(value, tf.Operation) else value.op for value in flat(ops))


def make_list_of_t(ts: Any, check_graph: bool = True, allow_graph: bool = True, **_: Any) -> Any:
    """Returns the tensors of a graph, or of nested collections of tensors.

    Raises:
        MoxTypeError: a value is not a tensor.
    """
    if isinstance(ts, tf.Graph):
        return get_tensors(ts)
    found = unique(flat(ts))
    for value in found:
        if not isinstance(value, tf.Tensor):
            raise MoxTypeError(f"Expected a tensor, got: {value!r}")
    return found


def get_tensors(graph: Any) -> list[Any]:
    """All tensors of a graph."""
    return [tensor for op in graph.get_operations() for tensor in op.outputs]


def get_generating_ops(ts: Any) -> list[Any]:
    """The operations that make tensors."""
    return unique(tensor.op for tensor in make_list_of_t(ts))


def get_consuming_ops(ts: Any) -> list[Any]:
    """The operations that read tensors."""
    return unique(op for tensor in make_list_of_t(ts) for op in tensor.consumers())


class ControlOutputs:
    """The operations that wait for an operation of a graph by a control dependency.

    Args:
        graph: the graph, which may grow: later operations are found as well.
    """

    def __init__(self, graph: tf.Graph) -> None:
        self._graph = graph
        self._found: dict[Any, list[Any]] = {}
        self._seen = 0

    @property
    def graph(self) -> tf.Graph:
        """The graph."""
        return self._graph

    def update(self) -> ControlOutputs:
        """Reads the whole graph again, as after a change of control dependencies."""
        self._found, self._seen = {}, 0
        return self

    def get_all(self) -> dict[Any, list[Any]]:
        """The waiting operations, by the operation for which they wait."""
        operations = self._graph.get_operations()
        for op in operations[self._seen :]:
            for awaited in op.control_inputs:
                self._found.setdefault(awaited, []).append(op)
        self._seen = len(operations)
        return self._found

    def get(self, op: tf.Operation) -> list[Any]:
        """The operations that wait for this operation."""
        return self.get_all().get(op, [])


def make_regex(obj: Any) -> Any:
    """Returns a compiled regular expression for a string or a pattern; None for other objects."""
    if isinstance(obj, str):
        return re.compile(obj)
    return obj if isinstance(obj, re.Pattern) else None


def filter_ops(ops: Any, positive_filter: Callable[[Any], bool] | bool | None = None) -> list[Any]:
    """The operations for which the filter is true; all, if it is True itself."""
    return _kept(make_list_of_op(ops), positive_filter)


def _kept(found: list[Any], positive_filter: Callable[[Any], bool] | bool | None) -> list[Any]:
    if positive_filter is None or isinstance(positive_filter, bool):
        return [] if positive_filter is False else found
    return [value for value in found if positive_filter(value)]


def filter_ops_from_regex(ops: Any, regex: Any) -> list[Any]:
    """Returns the operations whose names match the expression anywhere."""
    pattern = make_regex(regex)
    return filter_ops(ops, lambda op: bool(pattern.search(op.name)))


def filter_ts(ops: Any, positive_filter: Callable[[Any], bool] | bool | None = None) -> list[Any]:
    """The inputs and outputs of operations for which the filter is true; all, if it is True."""
    found = unique(tensor for op in make_list_of_op(ops) for tensor in [*op.inputs, *op.outputs])
    return _kept(found, positive_filter)


def filter_ts_from_regex(ops: Any, regex: Any) -> list[Any]:
    """Returns the inputs and outputs of operations whose names match the expression anywhere."""
    pattern = make_regex(regex)
    return filter_ts(ops, lambda tensor: bool(pattern.search(tensor.name)))


def get_name_scope_ops(ops: Any, scope: str) -> list[Any]:
    """The operations inside a name scope."""
    scope = scope.rstrip("/")
    return filter_ops(ops, lambda op: op.name == scope or op.name.startswith(f"{scope}/"))


def get_ops_ios(ops: Any, control_inputs: Any = False, control_ios: Any = None) -> list[Any]:
    """Returns the inputs and outputs of operations."""
    return filter_ts(ops)


def select_ops(
    *args: Any, graph: Any = None, positive_filter: Any = None, restrict_ops_regex: bool = False
) -> list[Any]:
    """Selects operations, given as objects or as regular expressions of names in `graph`.

    Raises:
        MoxValueError: an expression without a graph.
    """
    found: list[Any] = []
    for arg in args:
        if make_regex(arg) is None:
            found.extend(make_list_of_op(arg))
            continue
        text = arg if isinstance(arg, str) else arg.pattern
        if text.startswith("(?#ts)") or (restrict_ops_regex and not text.startswith("(?#ops)")):
            continue
        found.extend(filter_ops_from_regex(_of(graph), text))
    return filter_ops(unique(found), positive_filter)


def select_ts(
    *args: Any, graph: Any = None, positive_filter: Any = None, restrict_ts_regex: bool = False
) -> list[Any]:
    """Selects tensors, given as objects or as regular expressions of names in `graph`.

    Raises:
        MoxValueError: an expression without a graph.
    """
    found: list[Any] = []
    for arg in args:
        if make_regex(arg) is None:
            found.extend(make_list_of_t(arg))
            continue
        text = arg if isinstance(arg, str) else arg.pattern
        if text.startswith("(?#ops)") or (restrict_ts_regex and not text.startswith("(?#ts)")):
            continue
        found.extend(filter_ts_from_regex(_of(graph), text))
    found = unique(found)
    return _kept(found, positive_filter)


def select_ops_and_ts(*args: Any, graph: Any = None, **_: Any) -> tuple[list[Any], list[Any]]:
    """Selects operations and tensors; expressions that start with `(?#ts)` select tensors."""
    ops = select_ops(*(a for a in args if not isinstance(a, tf.Tensor)), graph=graph)
    tensors = [a for a in args if isinstance(a, tf.Tensor)]
    texts = [a for a in args if isinstance(a, str) and a.startswith("(?#ts)")]
    return ops, select_ts(*tensors, *texts, graph=graph)


def _of(graph: Any) -> Any:
    if graph is None:
        raise MoxValueError("Use the keyword argument 'graph' to use regex.")
    return graph


def _walk(
    seeds: Any,
    neighbors: Callable[[Any], Iterable[Any]],
    inclusive: bool,
    within_ops: Any,
    within_ops_fn: Callable[[Any], bool] | None,
) -> list[Any]:
    within = None if within_ops is None else set(make_list_of_op(within_ops))
    given = make_list_of_op(seeds)

    def inside(op: Any) -> bool:
        return (within is None or op in within) and (within_ops_fn is None or within_ops_fn(op))

    found: dict[Any, None] = {}
    wave = [op for op in given if inside(op)]
    while wave:
        found.update(dict.fromkeys(wave))
        following = dict.fromkeys(other for op in wave for other in neighbors(op))
        wave = [op for op in following if op not in found and inside(op)]
    return [op for op in found if inclusive or op not in given]


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Any], bool] | None = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Any]:
    """Returns the operations that the seeds, operations or tensors, depend on.

    Args:
        seed_ops: the operations or tensors where the walk starts.
        inclusive: whether the result includes the seeds.
        within_ops: the walk stays within these operations.
        within_ops_fn: the walk stays within operations for which this function is true.
        stop_at_ts: tensors at which the walk stops.
        control_inputs: whether the walk follows control dependencies.
    """
    stops = {id(tensor) for tensor in make_list_of_t(stop_at_ts)}

    def before(op: Any) -> Iterable[Any]:
        yield from (tensor.op for tensor in op.inputs if id(tensor) not in stops)
        if control_inputs:
            yield from op.control_inputs

    seeds = seed_ops
    if not isinstance(seed_ops, tf.Graph):
        seeds = [v for v in flat(seed_ops) if not isinstance(v, tf.Tensor) or id(v) not in stops]
    return _walk(seeds, before, inclusive, within_ops, within_ops_fn)


def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Any], bool] | None = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[Any]:
    """Returns the operations that depend on the seeds; see `get_backward_walk_ops`."""
    stops = {id(tensor) for tensor in make_list_of_t(stop_at_ts)}

    def after(op: Any) -> Iterable[Any]:
        for tensor in op.outputs:
            if id(tensor) not in stops:
                yield from tensor.consumers()
        if control_outputs:
            yield from op._control_outputs

    tensors = [value for value in flat(seed_ops) if isinstance(value, tf.Tensor)]
    if tensors:
        # A tensor's walk starts at the operations that read it.
        seeds = get_consuming_ops(tensors)
        seeds += [value for value in flat(seed_ops) if not isinstance(value, tf.Tensor)]
    else:
        seeds = make_list_of_op(seed_ops)
    return _walk(seeds, after, inclusive, within_ops, within_ops_fn)


def get_walks_intersection_ops(
    forward_seed_ops: Any, backward_seed_ops: Any, **options: Any
) -> list[Any]:
    """Returns the operations on paths from the forward seeds to the backward seeds."""
    forward = get_forward_walk_ops(forward_seed_ops)
    backward = set(get_backward_walk_ops(backward_seed_ops))
    return [op for op in forward if op in backward]
