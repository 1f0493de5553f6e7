"""Jobs: functions that are traced to a graph once, and whose calls run that graph."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph.rewrites.resources import resource_variables
from moxing.engine.wording import user_calls
from moxing.errors import MoxNotSupportedError, MoxRuntimeError, MoxTypeError, shown
from moxing.flow.runtime import session
from moxing.flow.runtime.calls import Built, Handle
from moxing.flow.trace import context, inputs, lists
from moxing.flow.trace.blobs import Blob
from moxing.flow.trace.conf import JobConf
from moxing.flow.trace.inputs import InputDef
from moxing.flow.trace.results import Array, Lists, Mirrored, several
from moxing.flow.trace.topology import Topology
from moxing.flow.trace.variables import Variables
from moxing.flow.training import totals, update


class Job:
    """A user's function, registered in the session that was open at its definition."""

    def __init__(self, function: Callable[..., Any], conf: JobConf | None) -> None:
        """Args: function: with definitions as defaults. conf: what the decorator was given."""
        functools.update_wrapper(self, function)
        self.name, self.function, self._conf = function.__name__, function, conf
        parameters = inspect.signature(function).parameters
        self._arguments = {name: parameter.default for name, parameter in parameters.items()}
        self.definitions: list[tuple[str, InputDef]] = []
        for name, default in self._arguments.items():
            found = inputs.named(name, default)
            if found is None:
                advice = (
                    "a method can't be a job, so define the function outside of the class"
                    if name == "self"
                    else f"argument {name} needs a definition as its default:"
                    f" {name}=flow.FixedTensorDef(shape)"
                )
                raise MoxTypeError(f"job {user_calls.location(function)}: {advice}.")
            self.definitions += found
        self.session = session.register(self)

    @property
    def later(self) -> bool:
        """Whether the job is declared by names of December 2019 and later.

        They are FunctionConfig, global_function, FixedTensorDef and its kin.
        """
        by_config = self._conf is not None and self._conf.later
        return by_config or any(definition.later for _, definition in self.definitions)

    @property
    def _revision(self) -> str:
        """The revision of the original that the job was written for, by its declaration."""
        if self._conf is not None and self._conf.is_global:
            return context.JUNE_2020
        return context.MARCH_2020 if self.later else context.NOVEMBER_2019

    def __call__(self, *args: Any, **named: Any) -> Handle | None:
        """Queues a step.

        Raises:
            MoxRuntimeError: no CheckPoint.init or load came before, or the session is closed.
            MoxTypeError: arguments are given by their names.
        """
        if named:
            raise MoxTypeError(
                f"job {self.name} was called with {', '.join(named)} by name: a job takes its"
                f" arrays by their places, {self.name}({', '.join(self._arguments)})."
            )
        if context.current() is not None:
            raise MoxRuntimeError(f"job {self.name} was called inside a job.")
        return self.session.call(self, args)

    def trace(self, graph: tf.Graph, variables: Variables, topology: Topology) -> Built:
        """Runs the function once, to make its graph."""
        defaults = self.session.defaults
        conf = (self._conf or defaults).copy()
        if self._conf is not None:
            conf.values = {**defaults.values, **conf.values}
        self._check_batches(conf)
        trace = context.Trace(self.name, conf, variables, graph, topology, revision=self._revision)
        with (
            graph.as_default(),
            resource_variables(),
            tf.name_scope(_legal(self.name)),
            context.tracing(trace),
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
            outputs = [self._output(item, conf.batches) for item in tf.nest.flatten(result)]
            # The original has an operation without a name for each result.
            context.numbers.take(len([1 for tensors in outputs if tensors]))
            for watch in trace.watches:
                watch.deliver = watch.blob.tensor
            train = None
            if conf.is_train:
                train = _train_op(self, trace)
            elif trace.updates:
                train = tf.group(*update.assignments(trace))
            readers = [reader for shared in trace.readers.values() for reader in shared["readers"]]
            sources = [shared["source"] for shared in trace.readers.values() if conf.is_train]
            return Built(given, result, outputs, trace.watches, train, readers, sources)

    def _check_batches(self, conf: JobConf) -> None:
        """Raises an error if a step takes several batches, and the program gives the batches."""
        if conf.batches > 1 and self.definitions:
            name = self.definitions[0][0]
            raise MoxNotSupportedError(
                f"job {user_calls.location(self.function)} takes argument {name}, and"
                f" num_gradient_accumulation_steps({conf.batches}) takes the batches of a step from"
                f" readers. Give the job all {conf.batches} batches in one array, and call"
                f" flow.unpack({name}, {conf.batches})."
            )

    def _output(self, item: Any, batches: int) -> list[tf.Tensor]:
        if item is None:
            return []
        if not isinstance(item, Blob):
            raise MoxTypeError(
                f"job {user_calls.location(self.function)} returned {shown(item)}; it returns"
                " nothing, a blob, or lists, tuples and dicts of blobs."
            )
        if batches > 1:  # The original packs the values of all batches.
            every = item.pieces if item.unpacked else [item.tensor] * batches
            return [tf.concat(every, 0)]
        return item.pieces if item.mirrored else [item.tensor]

    def run(self, built: Built, given: list[Any]) -> Any:
        """Runs one step; returns its result in the user's structure."""
        assert built.call is not None
        fetched = built.call(*given)
        values, arrays = iter(fetched), []
        for tensors in built.outputs:
            if tensors and tensors[0].dtype == tf.string:
                rows = [lists.unpacked(next(values)) for _ in tensors]
                arrays.append(Lists([[array[None] for array in row] for row in rows]))
                continue
            pieces = [_array(next(values)) for _ in tensors]
            # A None in the structure that the function returned has no tensor.
            arrays.append(Mirrored(pieces) if len(pieces) > 1 else pieces[0] if pieces else None)
        for watch, value in zip(built.watches, list(values), strict=False):
            watch.handler(value.view(Array))
        if built.result is None:
            return None
        return several(tf.nest.pack_sequence_as(built.result, arrays))

    def check(self, args: tuple[Any, ...], built: Built) -> list[Any]:
        """Returns the arrays to feed."""
        if len(args) != len(self._arguments):
            raise MoxTypeError(
                f"job {self.name} takes {len(self._arguments)} arrays, and was given {len(args)}:"
                f" call {self.name}({', '.join(self._arguments)})."
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


def _train_op(job: Job, trace: context.Trace) -> tf.Operation:
    """The step of a train job; errors name the line of the job."""
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
    """Returns a name that TensorFlow accepts for a scope or an operation."""
    name = re.sub(r"[^A-Za-z0-9_.]", "_", name)
    return name if name[0].isalnum() else f"job{name}"
