"""The values that the parts of a run share through their graph, as one typed object."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

_KEY = "openmox/run"


@dataclass
class RunContext:
    """The shared state of one run, stored in its graph while the graph is built and run.

    Fields whose class belongs to a package above this one have the type `object` here. The module
    that writes such a field also returns it under its own type.

    Attributes:
        graph: the graph that this context belongs to.
        feed: the run's requirements of its readers. Written by `data.feed.announce` before input_fn
            is called; read by readers while input_fn builds.
        positioned: names of operations that start where `feed` says. Written by readers through
            `data.feed.register`; read by `data.inputs` when the input is complete.
        period: number of elements after which an input is the same again; 0: unknown. Written by
            dialects through `data.feed.repeats_after`; read where elements are read again.
        sample_indices: for each such operation, the tensor that numbers its samples. Written by
            readers through `data.feed.register`; read by augmentation for the seed of a sample.
        reader_count: number of readers of samples so far, so that each has a seed of its own.
            Written and read by the readers of `tensorflow.datasets`.
        label_names: the class names of each reader that has some. Written by readers through
            `tensorflow.datasets.labels`; read when a model is exported.
        saveable_copies: the saveable objects of each replica after the first. Written by
            `parallel.replicas` through `graph.saveables`; read when the saver is made.
        fusion_offers: tensors of readers that can take over a change. Written by readers through
            `data.fusion.offer`; read by `data.fusion.find` when the input graph is lifted.
        fusion_changes: changes of such tensors. Written by augmentation through
            `data.fusion.note`; read by `data.fusion.find`.
        second_inputs: the input of the model that evaluates during training. Written by
            `model.inter_evaluation.build`, after the first model; read by hooks that evaluate.
        batches_in_step: number of batches in a step over all devices and workers. Written and read
            in the same places as `second_inputs`.
        files: where hooks that evaluate write their files. Written and read in the same places as
            `second_inputs`.
        exchange: gives optimizers access to other processes. Written by
            `parallel.self_exchange.offer` before the train op is built; read by optimizers in
            apply_gradients.
        save_points: for each optimizer with state that differs between processes, a counter and the
            number of counts after which that state is empty. Written by optimizers; read by the
            loop when it begins.
        settling: operations by which processes agree on the optimizers' state. Written by
            optimizers; run by `run.runner` after the last step.
        updating: the limits and changes of gradients. Written by `model.clipping.offer` before the
            train op is built; read by optimizers in apply_gradients.
        averages: moving averages of variables. Written by `model.averages.keep` while the train op
            is built; read when the restorer is made.
        average_swap: operations that put averages into variables. Written by
            `model.averages.make_showable` before the graph is final; run by hooks that evaluate.
        learning_rates: the factor of all learning rates. Written by `model.learning_rate.scalable`
            while optimizers are built; read by hooks in `begin`.
        gradients: the mean gradients of each loss. Written by `model.also.keep_gradients` while the
            train op is built; read when the values of log lines are made.
        run_state: variables that only a resumed run restores. Written by hooks in `begin` through
            `loop.run_state`; read when the restorer is made.
        recorder: the recorder of the run. Written by `Recorder.announce` before the session is
            opened; read by hooks that evaluate, after their evaluations.
        best: the keeper of the best checkpoints. Written by `run.runner` before the graph is final;
            read through `checkpoint.best.of_graph` by dialects, after their evaluations.
    """

    graph: tf.Graph
    feed: object = None
    positioned: set[str] = field(default_factory=set)
    period: int = 0
    sample_indices: dict[str, tf.Tensor] = field(default_factory=dict)
    reader_count: int = 0
    label_names: list[tuple[str, ...]] = field(default_factory=list)
    saveable_copies: list[tuple[Any, ...]] = field(default_factory=list)
    fusion_offers: list[tuple[tf.Tensor, Callable[..., Any]]] = field(default_factory=list)
    fusion_changes: list[tuple[tf.Tensor, object, tf.Tensor]] = field(default_factory=list)
    second_inputs: object = None
    batches_in_step: int = 1
    files: object = None
    exchange: object = None
    save_points: list[tuple[tf.Variable, int]] = field(default_factory=list)
    settling: list[tf.Operation] = field(default_factory=list)
    updating: object = None
    averages: object = None
    average_swap: object = None
    learning_rates: object = None
    gradients: list[list[Any]] = field(default_factory=list)
    run_state: list[tf.Variable] = field(default_factory=list)
    recorder: object = None
    best: object = None


def current() -> RunContext:
    """The context of the default graph; a function's graph has a copy of its outer graph's."""
    return of_graph(tf.get_default_graph())


def of_graph(graph: tf.Graph) -> RunContext:
    """The context of a graph; outside of a run, an empty one."""
    held: list[RunContext] = graph.get_collection_ref(_KEY)
    if not held:
        held.append(RunContext(graph))
    elif held[0].graph is not graph:
        # A function's graph inherits the outer graph's collections; what it adds must stay its own.
        held[:] = [_copy(held[0], graph)]
    return held[0]


def _copy(context: RunContext, graph: tf.Graph) -> RunContext:
    values = {name: getattr(context, name) for name in _CONTAINERS}
    copies = {name: value.copy() for name, value in values.items()}
    return dataclasses.replace(context, graph=graph, **copies)


_CONTAINERS = tuple(
    item.name
    for item in dataclasses.fields(RunContext)
    if item.default_factory is not dataclasses.MISSING
)
