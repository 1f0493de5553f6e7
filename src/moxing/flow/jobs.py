"""Jobs: functions whose calls run a graph that was made of them once."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph.resources import resource_variables
from moxing.engine.wording import user_calls
from moxing.errors import MoxRuntimeError, MoxTypeError, MoxValueError, shown
from moxing.flow import inputs, session, tracing
from moxing.flow.blobs import Array, Blob, Mirrored
from moxing.flow.inputs import InputDef
from moxing.flow.settings import DEFAULTS, KINDS, FunctionConfig, JobConf
from moxing.flow.train import totals, update
from moxing.flow.variables import Variables
from moxing.flow.watching import deliver
from moxing.flow.worker import Future, Worker


@dataclass
class Built:
    """The graph of a job.

    Attributes:
        inputs: the placeholders of each argument: of a mirrored one, one a device.
        result: what the function returned.
        outputs: the tensors of each of its blobs: of a mirrored one, one a device.
        watches: what is handed to watchers at each step.
        train: the operation of a step, or None.
        readers: that deliver data.
        call: runs one step.
    """

    inputs: list[list[tf.Tensor]]
    result: Any
    outputs: list[list[tf.Tensor]]
    watches: list[tracing.Watch]
    train: tf.Operation | None
    readers: list[Any] = field(default_factory=list)
    call: Callable[..., Any] | None = None

    @property
    def fetches(self) -> list[Any]:
        """All that a step computes."""
        watched = [watch.deliver for watch in self.watches]
        outputs = [tensor for tensors in self.outputs for tensor in tensors]
        return [*outputs, *watched, *([self.train] if self.train is not None else [])]


class Handle:
    """A step that was called: its result comes with `get` or `async_get`, once."""

    def __init__(self, job: str, future: Future, worker: Worker) -> None:
        self._job, self._future, self._worker, self._used = job, future, worker, False

    def _use(self) -> Future:
        if self._used:
            raise MoxRuntimeError(
                f"the result of this call of {self._job} was taken already; call the job again."
            )
        self._used = True
        return self._future

    def get(self) -> Any:
        """Waits for the step, and returns arrays in the structure that the job returns."""
        result = self._use().result()
        self._worker.raise_fault()
        return result

    def async_get(self, callback: Callable[[Any], None]) -> None:
        """Has `callback` called with the result, in a thread of the session."""
        if not callable(callback):
            raise MoxTypeError(f"async_get takes a function, not {shown(callback)}.")
        self._worker.when_done(self._use(), callback)


class Job:
    """A function of the user's, registered in the session that was open when it was defined."""

    def __init__(self, function: Callable[..., Any], conf: JobConf | None) -> None:
        functools.update_wrapper(self, function)
        self.name, self.function, self._conf = function.__name__, function, conf
        parameters = inspect.signature(function).parameters
        self._arguments = {name: parameter.default for name, parameter in parameters.items()}
        self.definitions: list[tuple[str, InputDef]] = []
        for name, default in self._arguments.items():
            found = inputs.named(name, default)
            if found is None:
                raise MoxTypeError(
                    f"job {user_calls.location(function)}: argument {name} needs a definition as"
                    f" its default: {name}=flow.FixedTensorDef(shape)."
                )
            self.definitions += found
        self.session = session.register(self)

    def __call__(self, *args: Any) -> Handle | None:
        """Queues a step.

        Raises:
            MoxRuntimeError: no CheckPoint.init or load came before, or the session is closed.
        """
        if tracing.current() is not None:
            raise MoxRuntimeError(f"job {self.name} was called inside a job.")
        return self.session.call(self, args)

    def trace(self, graph: tf.Graph, variables: Variables) -> Built:
        """Runs the function once, to make its graph."""
        conf = (self._conf or DEFAULTS).copy()
        if self._conf is not None:
            conf.values = {**DEFAULTS.values, **conf.values}
        trace = tracing.Trace(self.name, conf, variables, graph)
        with (
            graph.as_default(),
            resource_variables(),
            tf.name_scope(_legal(self.name)),
            tracing.tracing(trace),
            conf.values.get("placement") or contextlib.nullcontext(),
        ):
            given = [d.placeholders(_legal(name)) for name, d in self.definitions]
            blobs = iter(
                [
                    d.blob(f"job {self.name}, argument {name}", tensors)
                    for (name, d), tensors in zip(self.definitions, given, strict=True)
                ]
            )
            arguments = [inputs.packed(default, blobs) for default in self._arguments.values()]
            result = user_calls.call("job", self.function, *arguments)
            outputs = [self._output(item) for item in tf.nest.flatten(result)]
            for watch in trace.watches:
                watch.deliver = watch.blob.tensor
            train = None
            if conf.is_train:
                train = callbacks_noted(self, trace)
            readers = [reader for shared in trace.readers.values() for reader in shared["readers"]]
            return Built(given, result, outputs, trace.watches, train, readers)

    def _output(self, item: Any) -> list[tf.Tensor]:
        if item is None:
            return []
        if not isinstance(item, Blob):
            raise MoxTypeError(
                f"job {user_calls.location(self.function)} returned {shown(item)}; it returns"
                " nothing, a blob, or lists, tuples and dicts of blobs."
            )
        return item.pieces if item.mirrored else [item.tensor]

    def run(self, built: Built, given: list[Any]) -> Any:
        """One step: its result in the user's structure."""
        assert built.call is not None
        fetched = built.call(*given)
        values, arrays = iter(fetched), []
        for tensors in built.outputs:
            pieces = [_array(next(values)) for _ in tensors]
            # Where the function returned None in a structure, nothing was computed.
            arrays.append(Mirrored(pieces) if len(pieces) > 1 else pieces[0] if pieces else None)
        deliver(built.watches, list(values))
        if built.result is None:
            return None
        return tf.nest.pack_sequence_as(built.result, arrays)

    def check(self, args: tuple[Any, ...], built: Built) -> list[Any]:
        """The arrays to feed."""
        if len(args) != len(self._arguments):
            raise MoxTypeError(
                f"job {self.name} takes {len(self._arguments)} arrays, and was given {len(args)}."
            )
        values: list[Any] = []
        for (name, default), value in zip(self._arguments.items(), args, strict=True):
            values += inputs.values_of(f"job {self.name}, argument {name}", default, value)
        triples = zip(self.definitions, values, built.inputs, strict=True)
        return [
            array
            for (name, definition), value, tensors in triples
            for array in definition.arrays(self.name, name, value, len(tensors))
        ]


def callbacks_noted(job: Job, trace: tracing.Trace) -> tf.Operation:
    """The step of a train job; what is wrong with it is said of the job's place."""
    try:
        operation = update.step_op(trace)
        for watch in trace.watches:
            if watch.of_gradient:
                watch.deliver = totals.watched(watch)
        return operation
    except Exception as error:
        error.add_note(f"openmox: raised while building job {user_calls.location(job.function)}")
        raise


def _array(value: Any) -> Any:
    return value.view(Array) if hasattr(value, "view") and hasattr(value, "shape") else value


def _legal(name: str) -> str:
    """A name that TensorFlow takes for a scope or an operation."""
    name = re.sub(r"[^A-Za-z0-9_.]", "_", name)
    return name if name[0].isalnum() else f"job{name}"


def function(given: Any = None) -> Any:
    """Makes a function a job: `@flow.function`, or `@flow.function(config)`.

    The session runs it once, at its start, to make its graph. A call of the job runs a step of
    that graph and returns a `Handle`, or None where the function returns None.

    Args:
        given: the function, or a `FunctionConfig`.
    """
    if isinstance(given, FunctionConfig):
        return lambda inner: Job(inner, given.conf)
    if given is None:
        return lambda inner: Job(inner, None)
    if not callable(given):
        raise MoxTypeError(f"flow.function takes a function or FunctionConfig, not {shown(given)}.")
    return Job(given, None)


def global_function(
    *given: Any, function_config: FunctionConfig | None = None, type: str | None = None
) -> Any:
    """`@flow.global_function(config)`: the later spelling of `@flow.function(config)`.

    Args:
        given: a `FunctionConfig`, a type, or both in either order.
        function_config: the `FunctionConfig`, by name.
        type: "train" or "predict"; default: a train job is one whose config, or body, says
            something of training. What a config says of training is not for a predict job.

    Raises:
        MoxTypeError: something else is given.
        MoxValueError: no such type.
    """
    if len(given) == 1 and callable(given[0]):
        return function(given[0])
    named = [item for item in (function_config, type) if item is not None]
    kinds = [item for item in (*given, *named) if isinstance(item, str)]
    confs = [item for item in (*given, *named) if isinstance(item, FunctionConfig)]
    others = [item for item in (*given, *named) if not isinstance(item, str | FunctionConfig)]
    if any(item is not None for item in others) or len(kinds) > 1 or len(confs) > 1:
        items = ", ".join(map(shown, (*given, *named)))
        raise MoxTypeError(
            f"flow.global_function takes a FunctionConfig and a type, not {items}. Write"
            " @flow.global_function(config)."
        )
    if kinds and kinds[0] not in KINDS:
        raise MoxValueError(
            f"flow.global_function: type={shown(kinds[0])}; it is 'train' or 'predict'."
        )
    conf = confs[0].conf.copy() if confs else JobConf()
    conf.kind = kinds[0] if kinds else None
    return lambda inner: Job(inner, conf)
