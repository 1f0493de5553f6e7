"""What the parts of a run that share a graph tell each other, as one typed value of the graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

_KEY = "openmox/run"


@dataclass
class RunContext:
    """One run's notes, kept by its graph while the graph is built and run.

    Fields whose class belongs to a room above this one are `object`s here; the module that is named
    first writes them, and hands them out under their own type.

    Attributes:
        graph: the graph that these notes are of.
        feed: what readers are asked for. Written by `data.feed.announce`, before input_fn is
            called; read by readers while input_fn builds.
        positioned: names of operations that start where `feed` says. Written by readers, through
            `data.feed.register`; read where the input is finished (`data.inputs`).
        sample_indices: for such an operation, the tensor that numbers its samples. Written and read
            in the same places, and by augmentation, for the seed of a sample.
        fusion_offers: tensors of readers that can take over a change. Written by readers, through
            `data.fusion.offer`; read by `data.fusion.find`, as the input graph is lifted.
        fusion_changes: changes of such tensors. Written by augmentation, through
            `data.fusion.note`; read with the offers.
        second_inputs: the input of the model that evaluates during training. Written by
            `model.inter_evaluation.build`, after the first model; read by hooks that evaluate.
        batches_in_step: batches of a step over all devices and workers. Written and read likewise.
        files: where such hooks write. Written and read likewise.
        exchange: how optimizers reach other processes. Written by `parallel.self_exchange.offer`,
            as the train op is begun; read by optimizers in apply_gradients.
        save_points: for each optimizer that keeps something of each process's own, a counter and
            how many counts apart it keeps nothing. Written by optimizers; read by the loop as it
            begins.
        settling: operations by which processes agree on what optimizers keep. Written by
            optimizers; run by `run.runner` after the last step.
        learning_rates: the factor of every learning rate. Written by
            `model.learning_rate.scalable`, as optimizers build; read by hooks in `begin`.
        run_state: variables that only a resumed run restores. Written by hooks in `begin`, through
            `loop.run_state`; read where the restorer is made.
        recorder: the records of the run. Written by `Recorder.announce`, before the session is
            opened; read by hooks that evaluate, after their evaluations.
    """

    graph: tf.Graph
    feed: object = None
    positioned: set[str] = field(default_factory=set)
    sample_indices: dict[str, tf.Tensor] = field(default_factory=dict)
    fusion_offers: list[tuple[tf.Tensor, Callable[..., Any]]] = field(default_factory=list)
    fusion_changes: list[tuple[tf.Tensor, object, tf.Tensor]] = field(default_factory=list)
    second_inputs: object = None
    batches_in_step: int = 1
    files: object = None
    exchange: object = None
    save_points: list[tuple[tf.Variable, int]] = field(default_factory=list)
    settling: list[tf.Operation] = field(default_factory=list)
    learning_rates: object = None
    run_state: list[tf.Variable] = field(default_factory=list)
    recorder: object = None


def current() -> RunContext:
    """The context of the default graph; the body of a function has a copy of its outer graph's."""
    return of_graph(tf.get_default_graph())


def of_graph(graph: tf.Graph) -> RunContext:
    """The context of a graph, empty outside of a run."""
    held: list[RunContext] = graph.get_collection_ref(_KEY)
    if not held:
        held.append(RunContext(graph))
    elif held[0].graph is not graph:
        # Functions inherit the collections of the graph around them; what they add is theirs.
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
