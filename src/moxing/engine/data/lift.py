"""Turns the graph in which an input_fn made one element into a tf.data pipeline of such elements.

`input_fn` returns tensors: a recipe for one element, usually the `get_next()` of an iterator with
some operations after it. To batch, prefetch or share elements, the recipe must run many times per
step. So the graph is cut at its iterators, and the operations after the cut are mapped over the
datasets that the iterators read: in parallel, in order, ahead of the step. If a reader can take
over the first of these operations, the cut is after that operation (see `fusion`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.data import fusion
from moxing.engine.data.feed import Feed
from moxing.engine.data.fusion import Batch, Fusion
from moxing.engine.data.pipelines import PLACE
from moxing.engine.graph import ancestry
from moxing.engine.graph.rewrites import stateless

_SOURCES = ("OneShotIterator", "IteratorV2", "Iterator")
PYTHON_CALLS = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
# Operations for state that a function of the pipeline can reach only by a handle from outside.
_HANDLES = ("VarHandleOp", "HashTableV2", "MutableHashTableV2", "MutableDenseHashTableV2")
_ENDLESS = 1 << 62
_NO_DEMANDS = Feed()


class CannotLiftError(Exception):
    """The graph reads a source that a tf.data pipeline can't, such as a queue or a placeholder."""


@dataclass(frozen=True)
class Lifted:
    """A dataset whose elements are flat tuples of the lifted tensors, and where the graph was cut.

    Attributes:
        dataset: the pipeline.
        cut: the operations of the user's graph that the pipeline replaces. An operation that still
            reads a replaced operation takes elements of its own, not the pipeline's.
    """

    dataset: Any
    cut: tuple[tf.Operation, ...]


def lift(
    tensors: Sequence[tf.Tensor], feed: Feed = _NO_DEMANDS, batch: Batch | None = None
) -> Lifted:
    """Makes the pipeline that yields `tensors`, evaluated again for each element.

    Args:
        tensors: tensors of the current graph.
        feed: the run's feed. With a seed, the pipeline's random numbers depend on the seed and the
            number of the element.
        batch: how to batch the elements; None: they are not batched.

    Raises:
        CannotLiftError: the tensors depend on a source that only a step of a session can read; the
            message says which.
    """
    cut = _cut(list(ancestry.behind(tensors, passes=_is_inside)))
    fused = {found.offered.op.name: found for found in fusion.find(tensors)}
    results = [found.result for found in fused.values()]
    behind = list(ancestry.behind(tensors, fed=results, passes=_is_inside))
    handles = [op.outputs[0] for op in behind if op.type in _HANDLES]
    graph_def = tensors[0].graph.as_graph_def()
    library = {function.signature.name: function for function in graph_def.library.function}
    if batch is not None and len(cut) == 1 and fused:
        made = _batches(tensors, cut[0], fused[cut[0].name], batch)
        if made is not None:
            return Lifted(made, tuple(cut))
    base, elements = _zip([_source(op, fused.get(op.name), library) for op in cut])
    if list(tensors) == elements:
        dataset = base
    else:
        start = tf.constant(feed.start, tf.int64, name=PLACE)
        numbered = base.enumerate(start).map(_flat)
        body = _function(_inner(graph_def, behind), tensors, elements, handles, feed)
        # TensorFlow 1's `map` ends the pipeline when a Python function signals the end of its data.
        dataset = tf.data.Dataset.map(numbered, body, **_parallel(behind, cut))
    if batch is not None:
        dataset = dataset.batch(batch.size, drop_remainder=batch.full)
    return Lifted(dataset, tuple(cut))


def uses_python(tensors: Sequence[tf.Tensor]) -> bool:
    """Whether Python code stands between the iterators and these tensors."""
    return any(op.type in PYTHON_CALLS for op in ancestry.behind(tensors, passes=_is_inside))


def _batches(
    tensors: Sequence[tf.Tensor], get_next: tf.Operation, fused: Fusion, batch: Batch
) -> Any:
    """Batches that the reader makes itself, without copies; None if other operations follow."""
    elements = _elements(get_next, fused)
    places = {element.name: place for place, element in enumerate(elements)}
    if any(tensor.name not in places for tensor in tensors):
        return None
    made = fused.rebuild(batch)
    if made is None:
        return None
    size = batch.size if batch.full else None
    shapes = [tf.TensorShape([size]).concatenate(element.shape) for element in elements]
    wanted = [places[tensor.name] for tensor in tensors]
    return _of_type(made, shapes, elements).map(_choose(wanted))


def _choose(places: Sequence[int]) -> Any:
    """A function that picks parts of an element, which TensorFlow inlines."""
    return tf.autograph.experimental.do_not_convert(
        lambda *element: tuple(element[place] for place in places)
    )


def _flat(number: tf.Tensor, element: Any) -> tuple[tf.Tensor, ...]:
    return (number, *element) if isinstance(element, tuple) else (number, element)


def _is_inside(op: tf.Operation) -> bool:
    """Whether the operation belongs in the function: iterators and handles stay outside."""
    return op.type != "IteratorGetNext" and op.type not in _HANDLES


def _cut(behind: Sequence[tf.Operation]) -> list[tf.Operation]:
    """The get_next operations to cut at, in a fixed order."""
    for op in behind:
        if op.type.startswith("Placeholder"):
            raise CannotLiftError(f"it reads the placeholder {op.name}")
        if "Queue" in op.type or "Reader" in op.type or op.type in ("VariableV2", "Unstage"):
            raise CannotLiftError(f"it reads {op.name} ({op.type})")
        if op.type == "NextIteration":
            raise CannotLiftError(f"it has a loop of control flow v1 ({op.name})")
    cut = sorted((op for op in behind if op.type == "IteratorGetNext"), key=lambda op: op.name)
    iterators = [op.inputs[0].op.name for op in cut]
    if len(set(iterators)) != len(iterators):
        raise CannotLiftError("it takes several elements of one iterator at a time")
    return cut


def _source(
    get_next: tf.Operation, fused: Fusion | None, library: Mapping[str, Any]
) -> tuple[Any, list[tf.Tensor]]:
    """A dataset of flat tuples, and the tensors of the user's graph its components stand for."""
    if fused is None:
        return _dataset_of(get_next, library), list(get_next.outputs)
    elements = _elements(get_next, fused)
    return _of_type(fused.rebuild(None), [item.shape for item in elements], elements), elements


def _elements(get_next: tf.Operation, fused: Fusion) -> list[tf.Tensor]:
    """The tensors of the user's graph that the reader yields if it makes the change itself."""
    return [fused.result if out is fused.offered else out for out in get_next.outputs]


def _of_type(dataset: Any, shapes: Sequence[Any], like: Sequence[tf.Tensor]) -> Any:
    """The dataset with elements that are flat tuples of these shapes."""
    spec = tuple(tf.TensorSpec(*pair) for pair in zip(shapes, (t.dtype for t in like), strict=True))
    return tf.data.experimental.from_variant(tf.data.experimental.to_variant(dataset), spec)


def _dataset_of(get_next: tf.Operation, library: Mapping[str, Any]) -> Any:
    """The dataset that an iterator reads, found in the graph without its Python object."""
    iterator = get_next.inputs[0].op
    if iterator.type not in _SOURCES:
        raise CannotLiftError(f"its iterator {iterator.name} is a {iterator.type}")
    spec = tuple(tf.TensorSpec(out.shape, out.dtype) for out in get_next.outputs)
    if any(out.dtype in (tf.variant, tf.resource) for out in get_next.outputs):
        raise CannotLiftError("its elements are no plain tensors")
    if iterator.type == "OneShotIterator":
        variant = _made_by_factory(iterator, library)
    else:
        variant = _made_from(iterator)
    return tf.data.experimental.from_variant(variant, spec)


def _made_by_factory(iterator: tf.Operation, library: Mapping[str, Any]) -> tf.Tensor:
    """The dataset that the function of a one-shot iterator makes.

    The function is a copy of operations that are usually in the graph too, under the same names.
    These operations are used directly where possible: calling the function would copy its
    constants, which may hold the whole data.
    """
    name = iterator.get_attr("dataset_factory").name
    operations = {op.name: op for op in iterator.graph.get_operations()}
    for node in library[name].node_def:
        original = operations.get(node.name)
        if original is None or original.type != node.op:
            return _call_factory(iterator)
    (result,) = library[name].ret.values()
    return operations[result.split(":")[0]].outputs[0]


def _call_factory(iterator: tf.Operation) -> tf.Tensor:
    """Calls the function; statefully, so that TensorFlow doesn't fold the result to a constant."""
    types = tf.AttrValue.ListValue
    call = iterator.graph.create_op(
        "StatefulPartitionedCall",
        [],
        [tf.variant],
        attrs={
            "Tin": tf.AttrValue(list=types(type=[])),
            "Tout": tf.AttrValue(list=types(type=[tf.variant.as_datatype_enum])),
            "f": tf.AttrValue(func=iterator.get_attr("dataset_factory")),
        },
        name="dataset",
    )
    return call.outputs[0]


def _made_from(iterator: tf.Operation) -> tf.Tensor:
    """The dataset with which an initializable iterator is initialized."""
    makers = [op for op in iterator.outputs[0].consumers() if op.type == "MakeIterator"]
    if len(makers) != 1:
        raise CannotLiftError(
            f"its iterator {iterator.name} has {len(makers)} initializers, not one"
        )
    variant = makers[0].inputs[0]
    for op in ancestry.behind([variant]):
        if op.type.startswith("Placeholder"):
            raise CannotLiftError(f"its dataset reads the placeholder {op.name}")
    return variant


def _zip(sources: Sequence[tuple[Any, list[tf.Tensor]]]) -> tuple[Any, list[tf.Tensor]]:
    """Zips the sources into one dataset, whose elements have the parts of all sources."""
    datasets = [dataset for dataset, _ in sources]
    elements = [element for _, parts in sources for element in parts]
    if not datasets:
        return tf.data.Dataset.range(_ENDLESS), []
    if len(datasets) == 1:
        return datasets[0], elements
    flat = tf.data.Dataset.zip(tuple(datasets))
    return flat.map(lambda *parts: tuple(item for part in parts for item in part)), elements


def _inner(whole: tf.GraphDef, behind: Sequence[tf.Operation]) -> tf.GraphDef:
    """The part of the user's graph that becomes the function: `behind` without outside operations.

    Operations for which `_is_inside` is false stay outside.
    """
    names = {op.name for op in behind if _is_inside(op)}
    graph_def = tf.GraphDef(versions=whole.versions, library=whole.library)
    graph_def.node.extend(node for node in whole.node if node.name in names)
    for node in graph_def.node:
        # Operations outside have run before the function does: drop control inputs that wait for
        # them.
        node.input[:] = [name for name in node.input if name[0] != "^" or name[1:] in names]
        _stay_near(node, names)
    return graph_def


def _stay_near(node: tf.NodeDef, names: set[str]) -> None:
    """Keeps the node colocated with operations of `names` alone.

    `tf.cond` of control flow v1 puts each Switch beside the operation that it reads, and the
    function lacks the operations that stay outside.
    """
    if "_class" in node.attr:
        places = node.attr["_class"].list
        places.s[:] = [place for place in places.s if place.decode()[len("loc:@") :] in names]


def _function(
    graph_def: tf.GraphDef,
    tensors: Sequence[tf.Tensor],
    elements: Sequence[tf.Tensor],
    handles: Sequence[tf.Tensor],
    feed: Feed,
) -> Any:
    """The function from an element and its number to `tensors`, made from the user's own graph.

    `graph_def` is changed in place.
    """
    seeds: dict[str, int] = {}
    if feed.seed is not None:
        seeds = stateless.replace_in_function(graph_def, feed.seed, feed.shard)
    wanted = [tensor.name for tensor in tensors]
    read = {_tensor_name(name) for node in graph_def.node for name in node.input}

    @tf.autograph.experimental.do_not_convert
    def body(number: tf.Tensor, *arguments: tf.Tensor) -> tuple[tf.Tensor, ...]:
        # Not strict: without iterators the only argument is a count, which belongs to no tensor.
        given = {old.name: new for old, new in zip(elements, arguments, strict=False)}
        given |= {
            name: tf.stack([tf.constant(key, tf.int64), number]) for name, key in seeds.items()
        }
        # tf.identity captures a handle of the outer graph in the function.
        given |= {handle.name: tf.identity(handle) for handle in handles}
        made = [name for name in wanted if name not in given]
        if made:
            mapped = {name: value for name, value in given.items() if name in read}
            results = tf.import_graph_def(graph_def, mapped, made, name="lifted")
            given |= dict(zip(made, results, strict=True))
        for tensor in tensors:
            given[tensor.name].set_shape(tensor.shape)
        return tuple(given[name] for name in wanted)

    return body


def _tensor_name(input_name: str) -> str:
    """The tensor that an input of a NodeDef names: `a` is `a:0`; `^a` is only a control input."""
    return input_name if ":" in input_name else f"{input_name}:0"


def _parallel(behind: Sequence[tf.Operation], cut: Sequence[tf.Operation]) -> dict[str, Any]:
    """Arguments for parallel calls; none if Python code makes the elements: its order matters."""
    sources = [op for op in behind if op.type in PYTHON_CALLS]
    ordered = any(not _depends_on(op, cut) for op in sources)
    return {} if ordered else {"num_parallel_calls": tf.data.experimental.AUTOTUNE}


def _depends_on(op: tf.Operation, cut: Sequence[tf.Operation]) -> bool:
    names = {item.name for item in cut}
    return any(item.name in names for item in ancestry.behind(op.inputs, passes=_is_inside))
