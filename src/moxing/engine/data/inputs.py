"""Calls the user's input_fn and turns its result into the batches that the models get."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.data import ahead, feed, order, step_groups, whole_batch
from moxing.engine.data.fusion import Batch
from moxing.engine.data.lift import CannotLiftError, Lifted, lift, uses_python
from moxing.engine.data.whole_batch import WholeBatch
from moxing.engine.graph import devices as devices_here
from moxing.engine.graph import hardware, saveables, structure
from moxing.engine.graph.rewrites import arrays, fused_sums
from moxing.engine.job.job import TRAIN
from moxing.engine.wording import user_calls
from moxing.errors import MoxNotSupportedError, MoxValueError
from moxing.logs import TENSORFLOW

_PREFETCH = 2
_QUEUE_THREADS = 4


@dataclass(frozen=True)
class Inputs:
    """The inputs of the models, one model per device.

    Attributes:
        structures: for each device the list or dict of tensors that model_fn gets.
        counts: for each device how many samples it takes in a step: a scalar int64 tensor, an int,
            or None where that is not known.
        real: for each device a scalar bool tensor, whether the device has data in this step. If the
            input ends within a step, the remaining devices get zeros. Empty: all devices always
            have data.
        initializers: operations to run once before the first step.
        wait: scalar float64 tensor, seconds that the step waited for data; None: not measured.
        cut: the user's iterator operations that the pipeline replaced: a session that runs them
            takes elements that the models then miss.
        positioned: whether the input starts where `feed.Feed.start` says.
        shared: whether a step takes one element, a batch that the devices share.
    """

    structures: tuple[list[Any] | dict[str, Any], ...]
    counts: tuple[tf.Tensor | int | None, ...]
    initializers: tuple[tf.Operation, ...] = ()
    wait: tf.Tensor | None = None
    cut: tuple[tf.Operation, ...] = ()
    positioned: bool = False
    real: tuple[tf.Tensor, ...] = ()
    shared: bool = False

    @property
    def structure(self) -> list[Any] | dict[str, Any]:
        """The inputs of the first device's model."""
        return self.structures[0]

    @property
    def samples(self) -> tf.Tensor | int | None:
        """How many samples the first device takes in a step."""
        return self.counts[0]


@dataclass(frozen=True)
class _Batches:
    """The batches that devices take.

    Attributes:
        mode: TRAIN, EVAL or PREDICT.
        size: how many samples the engine puts into a batch; None: input_fn returns batches.
        devices: how many batches a step takes: one for each device.
        ahead: the names of the devices, if batches are copied to them before their step.
    """

    mode: str
    size: int | None
    devices: int
    ahead: tuple[str, ...] = ()

    @property
    def full(self) -> bool:
        """Whether an incomplete last batch, or last step, is dropped."""
        return self.mode == TRAIN

    @property
    def rearranged(self) -> bool:
        """Whether a step takes more than one element of input_fn: samples or batches."""
        return self.size is not None or self.devices > 1

    @property
    def in_dataset(self) -> Batch | None:
        """The batches to make at the end of a tf.data pipeline; None: input_fn returns batches."""
        return None if self.size is None else Batch(self.size, self.full)


def build(
    input_fn: Callable[[str], Any],
    mode: str,
    batch_size: int | None,
    make_batches: bool,
    may_lift: bool = True,
    devices: int = 1,
) -> Inputs:
    """Builds the input part of the current graph, on the CPU.

    Args:
        input_fn: the user's function.
        mode: TRAIN, EVAL or PREDICT.
        batch_size: samples per batch; None: the input decides.
        make_batches: whether `input_fn` returns single samples to be batched here. In TRAIN every
            batch is full, so that its size is static; other modes also get the rest.
        may_lift: False keeps the tensors that `input_fn` returned wherever possible.
        devices: number of devices; each device's model takes one element per step, or a part of the
            step's element if `input_fn` returns a `WholeBatch`.
    """
    with tf.device("/cpu:0"):
        inputs, initializers, is_whole = _called(input_fn, mode)
        # Batches that are made here have the size of one device's batch.
        shared = is_whole and not make_batches and devices > 1
        names, tensors = zip(*structure.leaves(inputs), strict=True)
        positioned = feed.is_positioned(tf.nest.flatten(tensors, expand_composites=True))
        names_ahead = ()
        # The place in other pipelines is kept by TensorFlow, which can't save batches on a device.
        if mode == TRAIN and positioned and not shared:
            names_ahead = _ahead(devices, tensors)
        count = 1 if shared else devices
        batches = _Batches(mode, batch_size if make_batches else None, count, names_ahead)
        if batches.size is not None:
            _check_batchable(names, tensors, batches.size)
        made = _of_devices(inputs, initializers, batches, may_lift)
        if shared:
            made = _shared(made, devices, batches.full)
        return dataclasses.replace(
            made,
            structures=tuple(_single_outputs(element) for element in made.structures),
            positioned=positioned,
        )


def _called(
    input_fn: Callable[[str], Any], mode: str
) -> tuple[list[Any] | dict[str, Any], list[tf.Operation], bool]:
    """Calls input_fn, and fixes the order of the readers that it made.

    Returns:
        The tensors of one element, the initializers of their iterator, and whether the element is
        one batch for all devices.
    """
    with arrays.out_of_graph():
        result = user_calls.call("input_fn", input_fn, mode, about=f"mode {mode}")
    initializers: list[tf.Operation] = []
    is_whole = isinstance(result, WholeBatch)
    result = result.inputs if isinstance(result, WholeBatch) else result
    if structure.is_dataset(result):
        structure.check_dataset(result)
        iterator = tf.data.make_initializable_iterator(result)
        initializers.append(iterator.initializer)
        result = iterator.get_next()
    demand = feed.current()
    if mode == TRAIN and demand.seed is None and demand.order is not None:
        order.fix(demand.order, demand.shard)
    return structure.normalize(result), initializers, is_whole


def _shared(made: Inputs, devices: int, full: bool) -> Inputs:
    """Returns the inputs of one device as those of devices that share each batch."""
    parts = whole_batch.share(made.structure, devices, full)
    return dataclasses.replace(
        made,
        structures=tuple(structure.replace(made.structure, part.tensors) for part in parts),
        counts=tuple(part.count for part in parts),
        real=tuple(part.real for part in parts if part.real is not None),
        shared=True,
    )


def _ahead(count: int, tensors: Sequence[tf.Tensor]) -> tuple[str, ...]:
    types = [tensor.dtype.base_dtype for tensor in tensors]
    return hardware.takes_ahead(devices_here.machine(), count, types)


def _single_outputs(inputs: Any) -> Any:
    """The inputs, each made the only output of its operation: see `fused_sums`."""
    leaves = [leaf for _, leaf in structure.leaves(inputs)]
    return structure.replace(inputs, [fused_sums.single_output(leaf) for leaf in leaves])


def _of_devices(
    inputs: Any, initializers: list[tf.Operation], batches: _Batches, may_lift: bool
) -> Inputs:
    """Makes the devices' inputs of the tensors that input_fn returned.

    A tf.data pipeline makes them if the graph of input_fn can be lifted into one. Where each step
    takes one element as it is, a pipeline is of use only if it replaces iterators of that graph.
    """
    tensors = [leaf for _, leaf in structure.leaves(inputs)]
    if may_lift or batches.rearranged:
        lifted = _lift(tensors, batches.in_dataset)
        if lifted is not None and (lifted.cut or batches.rearranged):
            return _from_dataset(inputs, lifted, batches)
    return _from_tensors(inputs, initializers, batches)


def _from_tensors(inputs: Any, initializers: list[tf.Operation], batches: _Batches) -> Inputs:
    """Has each step evaluate the tensors; queues make batches and serve several devices."""
    tensors = [leaf for _, leaf in structure.leaves(inputs)]
    if batches.size is not None:
        tensors = _queue(tensors, batches)
    elements = _shared_out(tensors, batches.devices) if batches.devices > 1 else [tensors]
    return Inputs(
        tuple(structure.replace(inputs, element) for element in elements),
        tuple(_samples(element, None) for element in elements),
        tuple(initializers),
    )


def _from_dataset(inputs: Any, lifted: Lifted, batches: _Batches) -> Inputs:
    """Has an iterator of the lifted pipeline give each device an element, in the devices' order."""
    dataset = lifted.dataset
    padded = batches.devices > 1 and not batches.full
    if padded:
        dataset = step_groups.pad(dataset, batches.devices)
    prefetched = _prefetched(dataset, batches.devices)
    replaced = [op.inputs[0].op for op in lifted.cut]
    if batches.ahead:
        initializer, take = ahead.iterator(prefetched, batches.ahead)
        saveables.follow_iterator(replaced, None, can_be_saved=False)
    else:
        iterator = tf.data.make_initializable_iterator(prefetched)
        initializer, take = iterator.initializer, lambda _: iterator.get_next()
        in_python = uses_python([leaf for _, leaf in structure.leaves(inputs)])
        saveables.follow_iterator(replaced, iterator, not in_python)
    elements, wait = _next(take, batches.devices)
    known = batches.size if batches.full else None
    real = tuple(element.pop() for element in elements) if padded else ()
    return Inputs(
        tuple(structure.replace(inputs, element) for element in elements),
        tuple(_samples(element, known) for element in elements),
        (initializer,),
        wait,
        lifted.cut,
        real=real,
    )


def _prefetched(dataset: Any, devices: int) -> Any:
    """The dataset, prefetched unless it already ends with a large enough prefetch buffer.

    A second buffer would only pass elements on.
    """
    end = tf.data.experimental.to_variant(dataset).op
    size = tf.get_static_value(end.inputs[1]) if end.type == "PrefetchDataset" else 0
    if size is not None and (size == tf.data.AUTOTUNE or size >= devices):
        return dataset
    return dataset.prefetch(_PREFETCH * devices)


def _lift(tensors: Sequence[Any], batch: Batch | None) -> Lifted | None:
    if any(isinstance(tensor, structure.COMPOSITE) for tensor in tensors):
        return None
    demand = feed.current()
    if not feed.is_positioned(tensors):
        # This input can't start at a given element; the session moves it to its place later.
        demand = dataclasses.replace(demand, start=0)
    try:
        return lift(tensors, demand, batch)
    except CannotLiftError as reason:
        TENSORFLOW.debug("input_fn runs inside the step: %s", reason)
        return None


def _next(take: Callable[[int], Any], count: int) -> tuple[list[list[tf.Tensor]], tf.Tensor]:
    """The next elements, in order, and the seconds that a step waits for them.

    Args:
        take: adds the operation that takes the next element of the device with a number.
        count: how many devices take an element.
    """
    before = tf.timestamp()
    elements: list[list[tf.Tensor]] = []
    last: list[Any] = [before]
    for number in range(count):
        with tf.control_dependencies(last):
            element = take(number)
        last = list(element) if isinstance(element, list | tuple) else [element]
        elements.append(last)
    with tf.control_dependencies(last):
        return [list(element) for element in elements], tf.timestamp() - before


def _shared_out(tensors: Sequence[Any], devices: int) -> list[list[tf.Tensor]]:
    """Gives each device one element, through a queue: only a session can evaluate the tensors."""
    for tensor in tensors:
        if isinstance(tensor, structure.COMPOSITE):
            raise MoxNotSupportedError(
                f"input_fn returned a {type(tensor).__name__}, which can't be shared out to"
                f" {devices} devices. Return dense tensors, or run on one device."
            )
    queue = tf.FIFOQueue(2 * devices, [tensor.dtype for tensor in tensors], name="devices")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(list(tensors))]))
    elements: list[list[tf.Tensor]] = []
    for _ in range(devices):
        with tf.control_dependencies(elements[-1] if elements else []):
            element = queue.dequeue()
        taken = element if isinstance(element, list) else [element]
        for tensor, source in zip(taken, tensors, strict=True):
            tensor.set_shape(source.shape)
        elements.append(list(taken))
    return elements


def _queue(tensors: Sequence[Any], batches: _Batches) -> list[Any]:
    """Makes batches with TensorFlow's queues, which take any tensor that a session can evaluate."""
    TENSORFLOW.info("input_fn can't run ahead as a tf.data pipeline; batching by queue.")
    batch = tf.train.batch(
        list(tensors),
        batches.size,
        num_threads=_QUEUE_THREADS,
        capacity=_QUEUE_THREADS * (batches.size or 1),
        allow_smaller_final_batch=not batches.full,
    )
    return batch if isinstance(batch, list) else [batch]


def _samples(tensors: Sequence[Any], known: int | None) -> tf.Tensor | int | None:
    """The batch size: the first dimension of the first input that has any; 1 for a lone sample."""
    if known is not None:
        return known
    if _is_one_sample(tensors):
        return 1
    for tensor in tensors:
        shape = tensor.shape
        if shape.rank is None or shape.rank > 0:
            size = shape.as_list()[0] if shape.rank else None
            if size is not None:
                return int(size)
            if isinstance(tensor, tf.Tensor) and shape.rank is not None:
                with tf.device(tensor.device):  # The tensor may be on a GPU.
                    return tf.shape(tensor, out_type=tf.int64)[0]
    return None


def _is_one_sample(tensors: Sequence[Any]) -> bool:
    """Whether the inputs are one sample and the number of its class."""
    if len(tensors) != 2 or not all(isinstance(tensor, tf.Tensor) for tensor in tensors):
        return False
    image, number = tensors
    return bool(image.shape.rank) and number.shape.rank == 0 and bool(number.dtype.is_integer)


def _check_batchable(names: Sequence[str], tensors: Sequence[Any], batch_size: int) -> None:
    for name, tensor in zip(names, tensors, strict=True):
        if isinstance(tensor, structure.COMPOSITE):
            raise MoxValueError(
                f"{name} is a {type(tensor).__name__}, which auto_batch=True cannot batch. Batch it"
                " in input_fn (Dataset.batch) and pass auto_batch=False."
            )
        if not tensor.shape.is_fully_defined():
            raise MoxValueError(
                f"{name} has shape {structure.describe_shape(tensor.shape)}: with auto_batch=True"
                f" and batch_size={batch_size} every sample must have one and the same known"
                " shape. If it is a single sample, resize it (tf.image.resize_images) or declare"
                " its shape (tensor.set_shape); if input_fn already yields batches, pass"
                " auto_batch=False."
            )
    _warn_if_batched(names, tensors, batch_size)


def _warn_if_batched(names: Sequence[str], tensors: Sequence[Any], batch_size: int) -> None:
    """Warns if several inputs share one leading size: most likely they are batches already."""
    sizes = {tensor.shape.as_list()[0] if tensor.shape.rank else None for tensor in tensors}
    if len(tensors) < 2 or len(sizes) != 1 or sizes & {None, 1}:
        return
    size = next(iter(sizes))
    shapes = ", ".join(
        f"{name}: {structure.describe_shape(tf.TensorShape([batch_size]).concatenate(t.shape))}"
        for name, t in zip(names, tensors, strict=True)
    )
    TENSORFLOW.warning(
        "input_fn seems to yield a batch of %d already, and auto_batch=True adds a dimension of %d"
        " in front (%s). If that is not meant, pass auto_batch=False.",
        size,
        batch_size,
        shapes,
    )
