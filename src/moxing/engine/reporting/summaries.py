"""Writes TensorBoard summaries of a run; an error in them does not end the run."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

import tensorflow.compat.v1 as tf

from moxing.logs import TENSORFLOW

_FLUSH_SECONDS = 10.0
_LARGEST_CONSTANT = 1024  # Bytes of a constant that the graph written for TensorBoard keeps.
_numbers = itertools.count()


@dataclass(frozen=True)
class Merged:
    """The summaries of a graph as one operation.

    Attributes:
        op: a scalar string tensor; None if there is nothing to summarize.
        tags: the tags of the program's own summaries in `op`.
        automatic: tags of logged values in `op`.
    """

    op: tf.Tensor | None = None
    tags: frozenset[str] = frozenset()
    automatic: frozenset[str] = frozenset()


class SummaryWriter:
    """Writes the values of one summary operation to an event file.

    A full disk or a missing permission costs the summaries and not the training: the first failure
    is logged, and all later values are dropped.

    Attributes:
        op: a scalar string tensor to run at the steps for which `due` is true; None if there is
            nothing to summarize.
    """

    def __init__(
        self,
        log_dir: str | None,
        graph: tf.Graph,
        merged: Merged,
        every_n_steps: int | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Opens nothing yet.

        Args:
            log_dir: directory of the event file; None: nothing is written.
            graph: written for TensorBoard.
            merged: the summaries of the graph.
            every_n_steps: steps between two runs of them.
            clock: seconds since 1970.
        """
        self.op = merged.op
        self._merged = merged
        self._log_dir = log_dir
        self._graph = graph
        self._every = every_n_steps or 0
        self._clock = clock
        self._file: Any = None
        self._started = False
        self._flushed = 0.0

    def due(self, step: int) -> bool:
        """Whether the step that starts at global step `step` is to run `op`."""
        return self.op is not None and step % self._every == 0

    def start(self, step: int) -> None:
        """Opens the event file, writes the graph and says at which global step the run starts.

        TensorBoard then drops the values of this step and later ones that an earlier run wrote
        before it was interrupted. Without this call, the first value written does the same.
        """
        if self._started or self._log_dir is None:
            return
        self._started = True
        with self._surviving():
            os.makedirs(self._log_dir, exist_ok=True)
            self._file = tf.io.TFRecordWriter(os.path.join(self._log_dir, self._name()))
            self._add(tf.Event(file_version="brain.Event:2"))
            with contextlib.suppress(ValueError):  # A graph over 2 GB has no serialized form.
                self._add(tf.Event(graph_def=_outline(self._graph)))
            started = tf.SessionLog(status=tf.SessionLog.START)
            self._add(tf.Event(session_log=started, step=step))
            self._flush()

    def write(self, step: int, value: bytes) -> None:
        """Writes the value of `op` at global step `step`."""
        self._write(step, tf.Summary.FromString(value))

    def scalar(self, step: int, tag: str, value: SupportsFloat) -> None:
        """Writes a number that was computed outside the graph, such as `global_step/sec`."""
        self._write(step, tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=float(value))]))

    def logged(self, step: int, values: Mapping[str, SupportsFloat]) -> None:
        """Writes the numbers of a log line that `op` does not write at this step.

        Tags of the program's own summaries are left to the program.
        """
        automatic = self._merged.automatic if self.due(step) else frozenset()
        shown = [
            tf.Summary.Value(tag=tag, simple_value=float(value))
            for tag, value in values.items()
            if tag not in self._merged.tags | automatic
        ]
        if shown:
            self._write(step, tf.Summary(value=shown))

    def text(self, step: int, tag: str, markdown: str) -> None:
        """Writes text that TensorBoard shows as Markdown."""
        value = tf.Summary.Value(tag=tag, tensor=tf.make_tensor_proto([markdown]))
        value.metadata.plugin_data.plugin_name = "text"
        self._write(step, tf.Summary(value=[value]))

    def close(self) -> None:
        """Writes the buffered values. Later calls do nothing."""
        if self._file is not None:
            with self._surviving():
                self._flush()
                self._file.close()
        self._file = None

    def _write(self, step: int, summary: Any) -> None:
        self.start(step)
        if self._file is None:
            return
        with self._surviving():
            self._add(tf.Event(summary=summary, step=step))
            if self._clock() - self._flushed > _FLUSH_SECONDS:
                self._flush()

    def _add(self, event: Any) -> None:
        event.wall_time = self._clock()
        self._file.write(event.SerializeToString())

    def _flush(self) -> None:
        self._file.flush()
        self._flushed = self._clock()

    def _name(self) -> str:
        """Returns a file name of TensorBoard's pattern, unique even for two runs of one second."""
        unique = f"{os.getpid()}.{next(_numbers)}"
        return f"events.out.tfevents.{int(self._clock())}.{socket.gethostname()}.{unique}"

    @contextlib.contextmanager
    def _surviving(self) -> Iterator[None]:
        try:
            yield
        except (OSError, tf.errors.OpError) as error:
            self._file = None
            TENSORFLOW.warning(
                "Summaries can't be written to %s (%s). The run goes on without them.",
                self._log_dir,
                str(error).partition("\n")[0],
            )


def open_summaries(
    log_dir: str | None,
    graph: tf.Graph,
    every_n_steps: int | None,
    automatic: Mapping[str, tf.Tensor] | None = None,
    histograms: Sequence[tf.Variable] = (),
) -> SummaryWriter:
    """Merges the summaries of a graph, which must not be finalized yet.

    Args:
        log_dir: directory of the event file; None: nothing is written.
        graph: holds the summaries that `tf.summary.*` made.
        every_n_steps: steps between two values of the graph's summaries; None or 0 for no
            summaries.
        automatic: scalars to summarize too, by tag, unless the graph has a summary with that tag.
        histograms: variables to show as histograms, unless the graph has a summary with their tag.
    """
    wanted = log_dir is not None and bool(every_n_steps)
    own = _runnable(graph.get_collection(tf.GraphKeys.SUMMARIES)) if wanted else []
    tags = {tag for summary in own if (tag := _tag(summary)) is not None}
    op = _merge(graph, own, tags, automatic or {}, histograms) if wanted else None
    merged = Merged(op, frozenset(tags), frozenset(automatic or ()))
    return SummaryWriter(log_dir, graph, merged, every_n_steps)


def _merge(
    graph: tf.Graph,
    own: Sequence[tf.Tensor],
    tags: Collection[str],
    automatic: Mapping[str, tf.Tensor],
    histograms: Sequence[tf.Variable],
) -> tf.Tensor | None:
    summaries = list(own)
    with graph.as_default(), tf.name_scope(None), tf.control_dependencies(None):
        for name, tensor in automatic.items():
            number = tf.cast(tensor, tf.float32) if tensor.dtype == tf.bool else tensor
            if name not in tags and (number.dtype.is_floating or number.dtype.is_integer):
                summaries.append(tf.raw_ops.ScalarSummary(tags=name, values=number))
        for variable in histograms:
            dtype = variable.dtype.base_dtype
            if variable.op.name not in tags and (dtype.is_floating or dtype.is_integer):
                summaries.append(_histogram(variable))
        return tf.summary.merge(summaries, collections=[]) if summaries else None


def _histogram(variable: tf.Variable) -> tf.Tensor:
    return tf.raw_ops.HistogramSummary(tag=variable.op.name, values=variable.read_value())


def _runnable(summaries: list[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the summaries that a session can fetch: none from inside a branch or a loop."""
    inside = [s.op.name for s in summaries if s.op._get_control_flow_context() is not None]
    if inside:
        TENSORFLOW.warning(
            "These summaries were made inside tf.cond or tf.while_loop and can't be written: %s."
            " Make them of what the branch or loop returns.",
            ", ".join(inside),
        )
    return [summary for summary in summaries if summary.op.name not in inside]


def _tag(summary: tf.Tensor) -> str | None:
    """Returns the name that TensorBoard shows; None if it is not a constant."""
    inputs = summary.op.inputs
    tag = tf.get_static_value(inputs[0]) if inputs and inputs[0].dtype == tf.string else None
    return tag.item().decode() if tag is not None and tag.ndim == 0 else None


def _outline(graph: tf.Graph) -> bytes:
    """The graph without the data in its constants, which TensorBoard does not show."""
    definition = graph.as_graph_def(add_shapes=True)
    bodies = [function.node_def for function in definition.library.function]
    for node in itertools.chain(definition.node, *bodies):
        constant = node.attr["value"].tensor if node.op == "Const" else None
        if constant is not None and constant.ByteSize() > _LARGEST_CONSTANT:
            constant.CopyFrom(
                type(constant)(dtype=constant.dtype, tensor_shape=constant.tensor_shape)
            )
    return definition.SerializeToString()
