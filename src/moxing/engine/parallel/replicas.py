"""Calls a model function once per device, on one set of variables or on a copy per device.

Each call after the first gets variable and scope stores of its own, so that it makes its variables
under the names of the first call, in the same order. A variable creator then hands out the first
call's variable, or a copy of it. This serves `tf.get_variable`, `tf.Variable`, `tf.layers` and
Keras alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import saveables, updates
from moxing.engine.graph.copy_names import PREFIX
from moxing.engine.job.job import Model
from moxing.engine.wording.option_names import option
from moxing.errors import MoxValueError

_STORES = (("__variable_store",), ("__varscope",))
_GLOBAL = tf.GraphKeys.GLOBAL_VARIABLES
# Collections that all replicas share.
_COMMON = (
    *(tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES),
    *(tf.GraphKeys.TABLE_INITIALIZERS, tf.GraphKeys.QUEUE_RUNNERS, tf.GraphKeys.GLOBAL_STEP),
    *(tf.GraphKeys.COND_CONTEXT, tf.GraphKeys.WHILE_CONTEXT),
)


@dataclass(frozen=True)
class Replica:
    """One device's model.

    Attributes:
        index: the number of the device, from 0 on.
        device: the name of the device.
        model: the result of model_fn.
        updates: batch-norm updates that a step runs.
        copies: this device's copies of the first replica's variables, by name; empty if the model
            reads the first replica's variables.
    """

    index: int
    device: str
    model: Model
    updates: tuple[tf.Operation, ...] = ()
    copies: Mapping[str, tf.Variable] = field(default_factory=dict)

    def own(self, variable: tf.Variable) -> tf.Variable:
        """Returns this device's copy of a variable of the first replica, or the variable itself."""
        return self.copies.get(variable.name, variable)


def build(
    devices: Sequence[str],
    copied: bool,
    call: Callable[[int], Model],
) -> list[Replica]:
    """Builds one model per device.

    Args:
        devices: where the models compute.
        copied: whether each device has a copy of the variables; otherwise all devices read the
            first device's variables.
        call: builds the model of a device, given its index.

    Raises:
        MoxValueError: a later call makes other variables than the first.
    """
    made: list[Any] = []
    replicas = []
    for index, device in enumerate(devices):
        with ExitStack() as stack:
            if index:
                creator: Any = _Follower(index, made, copied)
                stack.enter_context(_apart())
                stack.enter_context(tf.name_scope(f"{PREFIX}{index}"))
            else:
                creator = _Recorder(made)
            stack.enter_context(tf.device(device))
            stack.enter_context(tf.variable_creator_scope(creator))
            scope = tf.get_variable_scope()
            stack.enter_context(tf.variable_scope(scope, auxiliary_name_scope=False))
            model = call(index)
            creator.check_all_made()
            # Shared batch-norm variables follow the statistics of the first replica's batch alone.
            losses = [loss.tensor for loss in model.losses]
            run = tuple(updates.collect(losses)) if copied or not index else ()
        replicas.append(Replica(index, device, model, run, creator.copies))
    return replicas


def is_copy(variable: Any) -> bool:
    """Whether a variable, or an optimizer's slot of it, belongs to a replica after the first."""
    return variable.name.startswith(PREFIX)


def original_name(variable: Any) -> str:
    """Returns a variable's name; for a copy, the name of its original."""
    name = variable.op.name
    return name.split("/", 1)[1] if is_copy(variable) else name


def originals(variables: Iterable[tf.Variable]) -> list[tf.Variable]:
    """Returns the variables that a checkpoint holds: all except copies."""
    return [variable for variable in variables if not is_copy(variable)]


def copies_from_originals() -> tf.Operation:
    """Returns an operation that gives every copy in the graph the value of its original."""
    variables = tf.global_variables()
    known = {variable.op.name: variable for variable in variables if not is_copy(variable)}
    assignments = []
    for variable in variables:
        if is_copy(variable):
            original = known[original_name(variable)]
            with tf.device(variable.device):
                assignments.append(variable.assign(original.read_value(), read_value=False))
    return tf.group(*assignments)


class _Recorder:
    """A variable creator that records the variables of the first replica."""

    def __init__(self, made: list[Any]) -> None:
        self._made = made
        self.copies: dict[str, tf.Variable] = {}

    def __call__(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        variable = next_creator(**kwargs)
        if _is_global(kwargs):
            self._made.append(variable)
        return variable

    def check_all_made(self) -> None:
        """Does nothing: the first replica defines which variables there are."""


class _Follower:
    """A variable creator that returns the first replica's variables, or copies, for a later one."""

    def __init__(self, index: int, made: Sequence[Any], copied: bool) -> None:
        self._index, self._made, self._copied = index, made, copied
        self._next = 0
        self.copies: dict[str, tf.Variable] = {}

    def __call__(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        if not _is_global(kwargs):
            name = kwargs.get("name") or "Variable"
            return next_creator(**{**kwargs, "name": f"{PREFIX}{self._index}/{name}"})
        original = self._original(kwargs)
        if self._copied:
            return self._copy(next_creator, original, kwargs)
        # This call's collections list the variables that it uses, as the first call's do.
        tf.add_to_collection(_GLOBAL, original)
        if original.trainable:
            tf.add_to_collection(tf.GraphKeys.TRAINABLE_VARIABLES, original)
        return original

    def _original(self, kwargs: dict[str, Any]) -> Any:
        name, shape = kwargs.get("name"), kwargs.get("shape")
        if self._next >= len(self._made):
            raise MoxValueError(
                f"model_fn made the variable {name!r} for device {self._index}, which it did not"
                " make for device 0. It is called once per device and has to build the same model"
                " each time."
            )
        original = self._made[self._next]
        self._next += 1
        fits = shape is None or original.shape.is_compatible_with(shape)
        if not fits or (name is not None and not _same_name(original.op.name, name)):
            raise MoxValueError(
                f"model_fn made the variable {name!r} of shape {shape} for device {self._index}"
                f" where it made {original.op.name!r} of shape {original.shape} for device 0. It is"
                " called once per device and has to build the same model each time."
            )
        return original

    def _copy(self, next_creator: Callable[..., Any], original: Any, kwargs: dict[str, Any]) -> Any:
        shape, dtype = original.shape, original.dtype.base_dtype
        if not shape.is_fully_defined():
            raise MoxValueError(
                f"the variable {original.op.name} has no fixed shape, so devices can't have copies"
                f" of it. {option('one set')}."
            )
        own = {
            **kwargs,
            "name": f"{PREFIX}{self._index}/{original.op.name}",
            "initial_value": lambda: tf.zeros(shape, dtype),
            "shape": None,
            "dtype": dtype,
        }
        with tf.name_scope(None):
            copy = next_creator(**own)
        self.copies[original.name] = copy
        return copy

    def check_all_made(self) -> None:
        """Raises an error if the first replica made more variables."""
        if self._next < len(self._made):
            missing = self._made[self._next].op.name
            raise MoxValueError(
                f"model_fn made the variable {missing!r} for device 0 but not for device"
                f" {self._index}. It is called once per device and has to build the same model"
                " each time."
            )


def _is_global(kwargs: dict[str, Any]) -> bool:
    """Whether a variable is the model's; local variables, as of metrics, are a replica's own."""
    collections = kwargs.get("collections")
    return collections is None or tf.GraphKeys.LOCAL_VARIABLES not in collections


def _same_name(original: str, asked: str) -> bool:
    """Whether the names are equal except for the numbers that make a Keras layer's name unique."""
    return original.split("/")[-1].rstrip("_0123456789") == asked.split("/")[-1].rstrip(
        "_0123456789"
    )


@contextmanager
def _apart() -> Iterator[None]:
    """In the block, collections are empty; after it, they hold again what they held before.

    Copies of variables stay among the graph's global variables.
    """
    graph: Any = tf.get_default_graph()
    hidden = {key: list(graph.get_collection_ref(key)) for key in _keys(graph)}
    for key in hidden:
        graph.get_collection_ref(key)[:] = []
    try:
        yield
    finally:
        for key in _keys(graph):
            held = graph.get_collection_ref(key)
            if key == tf.GraphKeys.SAVEABLE_OBJECTS:
                saveables.keep_copies(held)
            copies = [item for item in held if key == _GLOBAL and is_copy(item)]
            held[:] = [*hidden.get(key, []), *copies]


def _keys(graph: tf.Graph) -> list[Any]:
    """Returns the keys of the collections that each replica has for itself."""
    named = [key for key in graph.get_all_collection_keys() if not key.startswith("openmox/")]
    return [*_STORES, *(key for key in named if key not in _COMMON)]
