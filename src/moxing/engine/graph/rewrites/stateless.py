"""Makes the random numbers of a seeded run depend only on the seed and the step or sample.

TensorFlow's random operations count their own calls. A resumed run would therefore draw other
numbers than an uninterrupted one, and a parallel pipeline would draw other numbers each time. In a
run with a seed, these operations are replaced by stateless ones, whose key is made from the seed,
the process, the operation's name and the number of the step (in the model) or of the element (in
the input). The operations of the first process and of the first device have the same keys as in a
run on one device.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry
from moxing.engine.graph.copy_names import PREFIX
from moxing.engine.wording.option_names import option
from moxing.logs import TENSORFLOW

# The beginning of operations' names on each device after the first.
_DEVICE = re.compile(rf"{PREFIX}\d+/")

# The stateless counterpart of each operation; both take a shape first and give one tensor.
_COUNTERPARTS = {
    "RandomUniform": "StatelessRandomUniform",
    "RandomStandardNormal": "StatelessRandomNormal",
    "TruncatedNormal": "StatelessTruncatedNormal",
    "RandomUniformInt": "StatelessRandomUniformInt",
}
# Random operations without a counterpart of the same inputs.
_OTHERS = (
    "RandomShuffle",
    "RandomGamma",
    "RandomPoissonV2",
    "Multinomial",
    "ParameterizedTruncatedNormal",
    "SampleDistortedBoundingBoxV2",
)


@contextmanager
def seed_of_device(seed: int | None, process: int, device: int) -> Iterator[None]:
    """In the block, operations that can't be replaced draw different numbers on each device.

    Operations inside functions of the graph (loops, conditionals) can't be replaced once they are
    made. Of all initial values, only those of the first device of the first process are used.

    Args:
        seed: the run's seed; None: nothing is changed.
        process, device: the numbers, from 0, of the process and the device that compute the model.
    """
    if seed is None or not (process or device):
        yield
        return
    graph = tf.get_default_graph()
    before = graph.seed
    tf.set_random_seed(_key(seed, f"{_of_process(process)}{device}") % (1 << 31))
    try:
        yield
    finally:
        graph.seed = before


def replace_in_function(graph_def: tf.GraphDef, seed: int, process: int = 0) -> dict[str, int]:
    """Replaces random operations in the body of an input function.

    Args:
        graph_def: the function's body, changed in place. Each replaced node reads a seed tensor
            that is not in the graph.
        seed: the run's seed.
        process: the number of the process that reads this input; each process has data and random
            numbers of its own.

    Returns:
        A key for each missing seed tensor, by the tensor's name. The caller must supply the tensor
        as int64 of shape [2]: the key and the element's number.
    """
    seeds: dict[str, int] = {}
    for node in graph_def.node:
        counterpart = _COUNTERPARTS.get(node.op)
        if counterpart is None:
            continue
        name = f"openmox_seed_{len(seeds)}"
        seeds[f"{name}:0"] = _key(seed, _of_process(process) + node.name)
        node.op = counterpart
        inputs = [name_ for name_ in node.input if not name_.startswith("^")]
        order = [name_ for name_ in node.input if name_.startswith("^")]
        node.input[:] = [inputs[0], name, *inputs[1:], *order]
        if "Tout" in node.attr:
            node.attr["dtype"].type = node.attr["Tout"].type
        for attribute in ("seed", "seed2", "Tout"):
            node.attr.pop(attribute, None)
        node.attr["Tseed"].type = tf.int64.as_datatype_enum
    return seeds


def replace_in_model(
    results: Iterable[tf.Tensor | tf.Operation],
    seed: int,
    number: Callable[[], tf.Tensor],
    own: Iterable[tf.Tensor | tf.Operation] = (),
    process: int = 0,
) -> None:
    """Replaces the random operations of a model, except those of initial values.

    Args:
        results: the tensors and operations that a step runs.
        seed: the run's seed.
        number: makes the number of a session call, an integer scalar that no other call has.
        own: the results that the models compute; their random numbers differ between processes.
            Random numbers of an update are the same in all processes, so that variables stay equal.
        process: the number of this process.
    """
    found = _in_steps(results)
    mine = {op.name for op in ancestry.behind(own)} if process else set()
    random = [op for op in found if op.type in _COUNTERPARTS and not _inside_control_flow(op)]
    left = [
        op for op in found if op.type in _OTHERS or (op.type in _COUNTERPARTS and op not in random)
    ]
    _warn(left)
    if not random:
        return
    with tf.device("/cpu:0"):
        count = tf.cast(number(), tf.int64)
    for op in sorted(random, key=lambda op: op.name):
        name = (_of_process(process) if op.name in mine else "") + op.name
        _replace(op, tf.stack([tf.constant(_key(seed, name), tf.int64), count]))


def tell_apart(own: Iterable[tf.Tensor | tf.Operation], process: int) -> None:
    """Makes seeds that the program chose for random operations differ on each device.

    Without this, `tf.nn.dropout(x, rate, seed=1)` would drop the same units on all devices.

    Args:
        own: the tensors and operations that the models of this process compute.
        process: the number of this process.
    """
    for op in _in_steps(own):
        device = _DEVICE.match(op.name)
        if op.type not in (*_COUNTERPARTS, *_OTHERS) or not (process or device):
            continue
        seeds = op.get_attr("seed"), op.get_attr("seed2")
        if any(seeds):  # Without seeds, TensorFlow draws new ones for each operation and process.
            name = _of_process(process) + (device.group() if device else "")
            op._set_attr("seed2", tf.AttrValue(i=_key(seeds[1], name) % (1 << 31)))


def _in_steps(results: Iterable[tf.Tensor | tf.Operation]) -> list[tf.Operation]:
    """The operations behind `results`, without those that compute initial values."""
    initial = {op.name for op in ancestry.behind([v.initializer for v in tf.global_variables()])}
    return [op for op in ancestry.behind(results) if op.name not in initial]


def _replace(op: tf.Operation, seed: tf.Tensor) -> None:
    shape, *limits = op.inputs
    dtype = op.outputs[0].dtype
    with tf.name_scope(None), tf.device(op.device):
        if op.type == "RandomUniform":
            new = tf.raw_ops.StatelessRandomUniform(shape=shape, seed=seed, dtype=dtype)
        elif op.type == "RandomStandardNormal":
            new = tf.raw_ops.StatelessRandomNormal(shape=shape, seed=seed, dtype=dtype)
        elif op.type == "TruncatedNormal":
            new = tf.raw_ops.StatelessTruncatedNormal(shape=shape, seed=seed, dtype=dtype)
        else:
            low, high = limits
            new = tf.raw_ops.StatelessRandomUniformInt(
                shape=shape, seed=seed, minval=low, maxval=high
            )
    new.set_shape(op.outputs[0].shape)
    old = op.outputs[0]
    for consumer in old.consumers():
        for index, tensor in enumerate(consumer.inputs):
            if tensor is old:
                consumer._update_input(index, new)


def _inside_control_flow(op: tf.Operation) -> bool:
    return op._get_control_flow_context() is not None


def _key(seed: int, name: str) -> int:
    """A number that differs for each operation and stays the same in every process."""
    return (seed * 1_000_003 + zlib.crc32(name.encode())) % (1 << 62)


def _of_process(process: int) -> str:
    """The prefix that tells a process's operations from the first process's, which have none."""
    return f"openmox_process_{process}/" if process else ""


def _warn(left: Sequence[tf.Operation]) -> None:
    if left:
        TENSORFLOW.warning(
            "%s can't fix the random operation %s (%s) over a resumed run: TensorFlow has no"
            " stateless form of it here.",
            option("--seed"),
            left[0].name,
            left[0].type,
        )
