"""Layers, initializers and models of a program for the package `keras`, as Keras 2 had them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow.compat.v1 as tf

_LIBRARIES = ("tf_keras", "keras", "tensorflow")


def serve_bare() -> None:
    """From now on layers, initializers and models of the program are called as by Keras 2."""
    from tf_keras.src.engine import base_layer_utils, base_layer_v1

    utils: Any = base_layer_utils
    infer = utils.infer_init_val_and_dtype
    if hasattr(infer, "__wrapped__"):
        return

    @functools.wraps(infer)
    def inferred(initializer: Any, *given: Any, **named: Any) -> Any:
        return infer(_as_called(initializer), *given, **named)

    utils.infer_init_val_and_dtype = inferred
    # The loss of `add_loss` may be of operations that wait for inputs, such as checks of shapes,
    # or that read variables. tf_keras would compute them once, without inputs.
    utils._UNSAFE_GRAPH_OP_LAYER_CREATION = True
    kind: Any = base_layer_v1.Layer
    call = kind.__call__

    @functools.wraps(call)
    def __call__(self: Any, *given: Any, **named: Any) -> Any:
        outputs = call(self, *given, **named)
        if given and _states_shape(self):
            _complete(self, given[0], outputs)
        # Keras 2 had no list of one tensor as an output: `K.gradients(y, x)` in a Lambda is one.
        return outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else outputs

    kind.__call__ = __call__
    kind._handle_activity_regularization = _regularize
    _list_layers()
    _count_own_nodes()


def _regularize(self: Any, inputs: Any, outputs: Any) -> None:
    """Adds the losses of a layer's outputs, summed over the batch as in the package `keras`.

    `tf.keras` divides the losses by the number of samples in the batch.
    """
    if self._activity_regularizer:
        with tf.name_scope("ActivityRegularizer"):
            for output in tf.nest.flatten(outputs):
                loss = tf.convert_to_tensor(self._activity_regularizer(output))
                self.add_loss(loss, inputs=inputs)


def _list_layers() -> None:
    """Makes `node.inbound_layers` a list of one layer where tf_keras has the layer itself."""
    from tf_keras.src.engine import node

    kind: Any = node.Node
    read = kind.inbound_layers.fget

    def inbound_layers(self: Any) -> Any:
        found = read(self)
        return found if isinstance(found, list | tuple | dict) else [found]

    kind.inbound_layers = property(inbound_layers, doc=kind.inbound_layers.__doc__)


def _count_own_nodes() -> None:
    """Makes node 0 of a model, as `get_input_at` and its kin count, the model itself.

    A model's calls on other tensors are the nodes behind it, so that programs find the model's own
    input whether the model has been called or not. tf_keras counts the calls only.
    """
    from tf_keras.src.engine import functional

    for part in ("input", "output"):
        for name in (f"get_{part}_at", f"get_{part}_shape_at"):
            original = getattr(functional.Functional, name)
            setattr(functional.Functional, name, _counting_own(original, part))


def _counting_own(original: Callable[..., Any], part: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, node_index: int) -> Any:
        own = getattr(self, f"{part}s", None)
        if not own:  # A Sequential model that does not know its input yet.
            return original(self, node_index)
        calls = len(self.inbound_nodes)
        if not -calls <= node_index + 1 <= calls + 1:
            raise ValueError(
                f"Asked to get the {part} of model {self.name} at node {node_index}, but it has"
                f" {calls + 1} nodes: its own and {calls} calls."
            )
        if node_index % (calls + 1):
            return original(self, node_index % (calls + 1) - 1)
        is_shape = original.__name__.endswith("shape_at")
        found = [_shape(each) for each in own] if is_shape else list(own)
        return found if len(found) > 1 else found[0]

    return method


def _as_called(initializer: Any) -> Any:
    """Returns an own initializer as Keras 2 called it.

    It gave the type as text, and none at all until Keras 2.2, so that functions of a shape alone
    were initializers, too.
    """
    if not callable(initializer) or inspect.isclass(initializer) or not _is_own(initializer):
        return initializer
    takes = inspect.signature(initializer).parameters.values()
    typed = any(each.name == "dtype" or each.kind is each.VAR_KEYWORD for each in takes)

    def call(shape: Any, dtype: Any = None, **named: Any) -> Any:
        if not typed:
            return initializer(shape)
        return initializer(shape, dtype=None if dtype is None else tf.as_dtype(dtype).name, **named)

    return call


def _is_own(thing: Any) -> bool:
    """Whether a function, or the class of an object, is not of TensorFlow and Keras."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    module = getattr(thing if inspect.isroutine(thing) else type(thing), "__module__", "") or ""
    return module.partition(".")[0] not in _LIBRARIES


def _states_shape(layer: Any) -> bool:
    from tf_keras import layers

    if isinstance(layer, layers.Lambda):
        return getattr(layer, "_output_shape", None) is not None
    return _is_own(type(layer).compute_output_shape)


def _complete(layer: Any, inputs: Any, outputs: Any) -> None:
    """Gives outputs the sizes that their layer states and TensorFlow does not know.

    Keras 2 believed a layer's `compute_output_shape`; the layers behind need these sizes. Sizes
    that TensorFlow knows, and the batch's, stay as they are.
    """
    tensors = tf.nest.flatten(outputs)
    if not all(tf.is_tensor(each) and not hasattr(each, "numpy") for each in tensors):
        return
    if not any(each.shape.rank is None or None in each.shape.as_list()[1:] for each in tensors):
        return
    for tensor, stated in zip(tensors, _stated(layer, inputs, len(tensors)), strict=False):
        rank = tensor.shape.rank
        if rank is None or rank == len(stated):
            known = [None] * len(stated) if rank is None else tensor.shape.as_list()
            sizes = [old or new for old, new in zip(known[1:], stated[1:], strict=True)]
            tensor.set_shape([*known[:1], *sizes])


def _stated(layer: Any, inputs: Any, number: int) -> Iterable[tuple[Any, ...]]:
    shapes = tf.nest.map_structure(_shape, inputs)
    compute: Callable[[Any], Any] = layer.compute_output_shape
    try:
        found = compute(shapes)
    except Exception:  # noqa: BLE001 - an own function; tf_keras runs such layers without it
        return []
    several = isinstance(found, list) or (number > 1 and isinstance(found, tuple))
    return [_whole(each) for each in (found if several else [found])]


def _shape(tensor: Any) -> Any:
    shape = getattr(tensor, "shape", None)
    return None if shape is None or shape.rank is None else tuple(shape.as_list())


def _whole(shape: Any) -> tuple[Any, ...]:
    sizes = tf.TensorShape(shape).as_list() if isinstance(shape, tf.TensorShape) else shape
    return tuple(None if size is None or size == -1 else int(size) for size in sizes)
