"""Variables of a session: one for each name, whichever jobs use it."""

from __future__ import annotations

import functools
import numbers
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxRuntimeError, MoxTypeError, MoxValueError, shown
from moxing.flow.trace import context, initializers, scopes, shards, spelling
from moxing.flow.trace.blobs import Blob
from moxing.flow.trace.initializers import Initializer

_COUNTS = "System-Train-TrainStep-"
_MEAN_SQUARE = "-mean_square"
SLOT = "slot"  # The group of the variables of optimizers.
# Files in a checkpoint's folder, beside which each variable has a folder of its own.
DONE_FILE, SHAPES_FILE = "snapshot_done", "shapes.json"


@dataclass(frozen=True)
class Definition:
    """The definition of a variable, on which jobs that share it must agree."""

    shape: tuple[int, ...]
    dtype: tf.DType
    initializer: Initializer
    model_name: str
    seed: int | None
    split: int | None = None


class Variables:
    """The variables of a session by name."""

    def __init__(self, graph: tf.Graph) -> None:
        self._graph = graph
        self._definitions: dict[str, tuple[Definition, str]] = {}
        self.by_name: dict[str, Any] = {}
        # The original's names of unnamed layers by ours, those of train jobs first.
        self._originals: dict[str, tuple[list[str], list[str]]] = {}

    def get(
        self, name: str, definition: Definition, job: str, like: shards.Split | None = None
    ) -> Any:
        """Returns the variable, and makes it if no job has it.

        Args:
            like: the blob whose devices hold the parts of a variable in parts.

        Returns:
            A variable, or a `shards.Split`.

        Raises:
            MoxValueError: another job defines the variable differently.
        """
        if name in self.by_name:
            self._check(name, definition, job)
            return self.by_name[name]
        _check_name(name)

        def initial() -> tf.Tensor:
            return definition.initializer.tensor(
                definition.shape, definition.dtype, definition.seed
            )

        def part(shape: Sequence[int], number: int) -> tf.Variable:
            zeros = functools.partial(tf.zeros, shape, definition.dtype)
            return _variable(f"{name}/part{number}", shape, definition.dtype, zeros)

        # The variable is made outside the name scopes and control dependencies of the first job.
        with self._graph.as_default(), tf.name_scope(None), tf.control_dependencies(None):
            if definition.split is None:
                variable = _variable(name, definition.shape, definition.dtype, initial)
            else:
                axis, count = definition.split, len(like.sizes) if like else scopes.total()
                variable = shards.Split(definition.shape, axis, count, part, initial(), like)
        self.by_name[name] = variable
        self._definitions[name] = (definition, job)
        return variable

    def note_original(self, layer: str, given: str, is_train: bool) -> None:
        """Notes the name that the original gives to an unnamed layer of a job.

        Args:
            layer: the layer's name in the session, which jobs share.
            given: its name in the original, where each job has a layer of its own.
            is_train: whether the job trains.
        """
        self._originals.setdefault(layer, ([], []))[not is_train].append(given)

    def originals(self, name: str) -> list[str]:
        """The names under which the original looks for a variable; its own name for most.

        Variables of optimizers are those of train jobs, where there are any.
        """
        layer = next((n for n in self._layers(name) if n in self._originals), None)
        if layer is None:
            return [name]
        trained, others = self._originals[layer]
        slot = name in self._definitions and self.model_name(name) == SLOT
        given = (trained or others) if slot else [*trained, *others]
        return [f"{one}{name[len(layer) :]}" for one in dict.fromkeys(given)]

    @staticmethod
    def _layers(name: str) -> Iterator[str]:
        """The names of the layers that a variable can belong to: all before one of its dashes."""
        return (name[: match.start()] for match in re.finditer("-", name))

    def model_name(self, name: str) -> str:
        """The group of a variable: weight, bias or other."""
        return self._definitions[name][0].model_name

    def is_kept_here_only(self, name: str) -> bool:
        """Whether the original keeps a variable out of checkpoints: RMSProp's mean squares."""
        return self.model_name(name) == SLOT and name.endswith(_MEAN_SQUARE)

    def _check(self, name: str, definition: Definition, job: str) -> None:
        known, other = self._definitions[name]
        for what in Definition.__dataclass_fields__:
            ours, theirs = getattr(definition, what), getattr(known, what)
            if ours != theirs:
                shape = [_word(value) for value in (ours, theirs)]
                raise MoxValueError(
                    f"variable {name!r} has {what} {shape[0]} in job {job}, and {shape[1]} in job"
                    f" {other}. Jobs that use one name share the variable: give it the same"
                    " definition, or another name."
                )


def _variable(name: str, shape: Sequence[int], dtype: tf.DType, initial: Any) -> tf.Variable:
    return tf.Variable(
        initial,
        trainable=False,
        use_resource=True,
        dtype=dtype,
        shape=shape,
        name=f"variables/{re.sub(r'[^A-Za-z0-9_./-]', '_', name)}",
    )


def _word(value: Any) -> str:
    return value.name if isinstance(value, tf.DType) else shown(value)


def _check_name(name: str) -> None:
    parts = name.split("/") if isinstance(name, str) else [""]
    if (
        any(part in ("", ".", "..") for part in parts)
        or "\0" in name
        or parts[0] in (DONE_FILE, SHAPES_FILE)
    ):
        raise MoxValueError(f"{shown(name)} can't name a variable: it is not a name of a folder.")


def _check_shape(own: str, shape: Any) -> None:
    """Raises an error if a variable's shape is none of whole numbers."""
    sizes = list(shape) if isinstance(shape, Iterable) else [None]
    if isinstance(shape, list | tuple) and any(size is None for size in sizes):
        raise MoxValueError(
            f"variable {own!r} needs a shape of whole numbers, not {shown(shape)}: a None is a size"
            " that the job does not know, such as one of an input that may come smaller. Give the"
            " size as a number."
        )
    if not all(_is_whole(size) for size in sizes):
        raise MoxValueError(f"variable {own!r} needs a shape of whole numbers, not {shown(shape)}.")


def _is_whole(size: Any) -> bool:
    if not isinstance(size, numbers.Real) or type(size) is bool:
        return False
    number = float(size)
    return number >= 0 and number.is_integer()


def _has_regularizer(args: tuple[Any, ...]) -> bool:
    """Whether a regularizer, or None in its place, comes before `trainable`, as from 2020 on."""
    place = args[4:6]
    return bool(place) and not isinstance(place[0], int) and not isinstance(place[-1], str)


@spelling.placed(
    "name shape dtype initializer regularizer trainable model_name random_seed distribute",
    _has_regularizer,
)
def get_variable(
    name: str,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    initializer: Initializer | None = None,
    trainable: bool | None = True,
    model_name: str | None = None,
    random_seed: int | None = None,
    distribute: Any = None,
    regularizer: Any = None,
) -> Blob:
    """The variable of this name, which all jobs of the session share.

    Args:
        name: also the variable's folder in checkpoints.
        shape: whole shape.
        dtype: default `flow.config.default_data_type`.
        initializer: an initializer, or an `InitializerConf`; default
            `flow.config.default_initializer_conf`.
        trainable: whether this job trains it; None for True.
        model_name: "weight" (default), "bias" or another; learning rate and l1, l2 depend on it.
        random_seed: makes random first values the same in each run.
        distribute: `flow.distribute.split(axis)`: each device has a part along that axis; otherwise
            each device reads the whole variable.
        regularizer: a regularizer, such as `flow.regularizers.l2(1e-4)`.

    Raises:
        MoxValueError: shape or initializer is missing, or another job defines the variable
            differently.
    """
    trace = context.enter_op("flow.get_variable")
    if not isinstance(name, str):
        raise MoxTypeError(f"flow.get_variable: the name of a variable is text, not {shown(name)}.")
    own = trace.prefix + name
    if own in trace.blobs:
        known = trace.blobs[own]
        if shape is not None and tuple(shape) != known.static_shape:
            raise MoxValueError(
                f"variable {own!r} has shape {known.static_shape} in job {trace.name}, and now"
                f" {tuple(shape)}."
            )
        return known
    _check_shape(own, shape)
    assert shape is not None
    if initializer is None and "initializer" in trace.conf.values:
        initializer = initializers.from_conf(trace.conf.values["initializer"])
    initializer = initializers.given(initializer)
    if not isinstance(initializer, Initializer):
        raise MoxValueError(
            f"variable {own!r} needs an initializer, not {shown(initializer)}: give one, or call"
            " flow.config.default_initializer_conf."
        )
    definition = Definition(
        tuple(int(size) for size in shape),
        tf.as_dtype(dtype or trace.conf.default_data_type),
        initializer,
        model_name or "weight",
        random_seed,
        shards.axis_of(distribute, own, shape),
    )
    variable = trace.variables.get(own, definition, trace.name)
    if isinstance(variable, shards.Split):
        blob: Blob = shards.SplitBlob(variable, distribute)
    else:
        blob = Blob(variable.read_value(), None, distribute)
    blob.variable_name = own
    if trace.in_part:  # A variable is no part, even if the first read is in a device's part.
        trace.made.append(blob)
    trace.blobs[own] = blob
    trace.trainable[own] = True if trainable is None else trainable
    if regularizer is not None:
        trace.regularizers[own] = regularizer
    return blob


def slot(
    trace: context.Trace,
    name: str,
    like: Any,
    value: float = 0,
    scalar: bool = False,
    dtype: tf.DType | None = None,
) -> Any:
    """Makes a variable of an optimizer, saved and loaded like the model's variables.

    Args:
        like: a variable, or a `shards.Split`: then the slot has parts beside its parts.
        value: the initial value of all its elements.
        scalar: whether it has one element.
        dtype: default: the variable's type.
    """
    shape = (1,) if scalar else tuple(like.shape.as_list())
    initial = Initializer("constant", value)
    parted = isinstance(like, shards.Split) and not scalar
    axis = like.axis if parted else None
    kind = dtype or like.dtype.base_dtype
    definition = Definition(shape, kind, initial, SLOT, None, axis)
    return trace.variables.get(name, definition, trace.name, like if parted else None)


def train_step(trace: context.Trace) -> tf.Variable:
    """The number of finished steps of a train job, int64 [1]."""
    definition = Definition((1,), tf.int64, Initializer("constant"), "step", None)
    return trace.variables.get(_COUNTS + trace.name, definition, trace.name)


def counts(variables: Mapping[str, tf.Variable]) -> dict[str, tf.Variable]:
    """Returns the variables that count steps, by job."""
    return {
        name.removeprefix(_COUNTS): variable
        for name, variable in variables.items()
        if name.startswith(_COUNTS)
    }


def require_train(trace: context.Trace, what: str) -> None:
    """Raises an error if the job is no train job."""
    if not trace.conf.is_train:
        raise MoxRuntimeError(
            f"{what}: job {trace.name} is no train job. Call flow.config.train.primary_lr(...) and"
            " flow.config.train.model_update_conf(...) at its beginning."
        )


def require_blob(value: Any, what: str) -> Blob:
    """Returns the value if it is a blob.

    Raises:
        MoxTypeError: the value is no blob.
    """
    if not isinstance(value, Blob):
        raise MoxTypeError(f"{what} takes a blob, not {shown(value)}.")
    return value
