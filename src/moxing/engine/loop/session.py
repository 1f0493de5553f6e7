"""Opens a session in which every variable has a value and every input is ready."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing import leaving
from moxing.engine.checkpoint.restoring.object_restorer import ObjectRestorer
from moxing.engine.checkpoint.restoring.restorer import Restorer
from moxing.engine.graph import blame, compilable, devices, fusing, tf_executor
from moxing.engine.job.job import Job
from moxing.engine.model import recompute
from moxing.engine.process import stacks
from moxing.engine.process.solo import Solo
from moxing.engine.wording.option_names import option
from moxing.logs import TENSORFLOW

_CLOSE_SECONDS, _LOOK_SECONDS = 0.5, 0.02
_END_SECONDS = 10.0  # For the user's code that still runs after the last step.


@dataclass(frozen=True)
class Initialization:
    """How variables and inputs get values, in this order.

    Attributes:
        variables: operation that initializes the variables that `restorer` does not restore.
        restorer: restores the other variables; None: there are no others.
        complete: function called after that, which gives copies of variables their values.
        inputs: operations that initialize inputs, run after the variables have values.
        objects: restores tables and the positions of iterators, last of all; None: restores none.
    """

    variables: tf.Operation
    restorer: Restorer | None
    complete: Callable[[tf.Session], None]
    inputs: Sequence[tf.Operation]
    objects: ObjectRestorer | None = None


@contextmanager
def open_session(
    job: Job,
    graph: tf.Graph,
    initialization: Initialization,
    coordinator: tf.train.Coordinator,
    team: Solo,
) -> Iterator[tf.Session]:
    """A session on the final `graph`; the session and its queue runners end with the block.

    An error of a queue runner is stored in `coordinator`; the caller raises it if data was missing
    because of it. If the block ends without an error, such an error is only logged as a warning.

    Args:
        job: the job, with the sizes of thread pools.
        graph: a finalized graph.
        initialization: how variables and inputs get values.
        coordinator: coordinator of the queue runners.
        team: the processes that the session runs with.
    """
    leaving.install()
    config = _config(job, graph, team)
    session = tf.Session(team.target, graph=graph, config=config)
    threads: list[threading.Thread] = []
    team.escape.enter(session)
    try:
        with graph.as_default(), session.as_default():
            with blame.noted(graph, "while variables were initialized"):
                session.run(initialization.variables)
            if initialization.restorer is not None:
                initialization.restorer.run(session)
            initialization.complete(session)
            with blame.noted(graph, "while the datasets of input_fn were opened"):
                session.run(list(initialization.inputs))
            if initialization.objects is not None:
                initialization.objects.run(session)
            if graph.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
                threads = tf.train.start_queue_runners(session, coordinator)
            yield session
    except BaseException:
        _end(session, coordinator, threads, team)
        raise
    fault = _end(session, coordinator, threads, team)
    if fault is not None:
        TENSORFLOW.warning(
            "An input thread failed after it had read all data that was needed: %s", fault
        )


@contextmanager
def threads_of_hooks(coordinator: tf.train.Coordinator) -> Iterator[None]:
    """Stops the threads that hooks registered, at the end of the block, and waits for them."""
    try:
        yield
    finally:
        _join(coordinator, ())


def initializer(variables: Sequence[tf.Variable]) -> tf.Operation:
    """An operation that initializes these variables, all local variables and all tables."""
    return tf.group(
        tf.variables_initializer(list(variables)),
        tf.local_variables_initializer(),
        tf.tables_initializer(),
        *_of_nothing(),
    )


def _of_nothing() -> list[tf.Operation]:
    """The initializers of variables in no collection whose first value has no elements.

    TensorFlow 1.x took a variable without elements for initialized, so programs collect strings in
    `tf.Variable([], collections=[])` and never run an initializer of that variable.
    """
    graph = tf.get_default_graph()
    handles = (op for op in graph.get_operations() if op.type == "VarHandleOp")
    empty = [op for op in handles if tf.TensorShape(op.get_attr("shape")).num_elements() == 0]
    listed = {variable.op.name for variable in (*tf.global_variables(), *tf.local_variables())}
    return [
        reader
        for op in empty
        if op.name not in listed
        for reader in op.outputs[0].consumers()
        if reader.type == "AssignVariableOp" and reader.name == f"{op.name}/Assign"
    ]


def _config(job: Job, graph: tf.Graph, team: Solo) -> tf.ConfigProto:
    config = tf.ConfigProto(
        allow_soft_placement=True,
        inter_op_parallelism_threads=job.threads.inter_op,
        intra_op_parallelism_threads=job.threads.intra_op,
    )
    team.configure(config, job.group, job.placement.together)
    compilable.choose(config, graph)
    if job.training and job.optimization.updating.recompute:
        recompute.configure(config)
    if team.target:
        fusing.configure(config, graph)
    if team.alone and not devices.has_gpu() and job.devices == 1:
        config.experimental.executor_type = tf_executor.choose(graph.get_operations())
    return config


def _end(
    session: tf.Session,
    coordinator: tf.train.Coordinator,
    threads: Sequence[threading.Thread],
    team: Solo,
) -> Exception | None:
    """Ends the queue runners and the session, and returns the error of a queue runner, if any.

    When it closes a session, TensorFlow waits for Python code that runs inside the session, such as
    a generator that reads ahead; so does this function, for a while. TensorFlow often also waits
    for a tf.data thread that sleeps between measurements of the pipeline's speed, for up to half
    the time since the pipeline began: long ago, if it has skipped what an earlier run had read. If
    no Python code runs, or a process that would have to answer is lost, a background thread waits.
    """
    team.escape.at_ease()
    until = time.monotonic() + _END_SECONDS
    fault = _join(coordinator, threads)
    closing = threading.Thread(target=session.close, name="close session", daemon=True)
    closing.start()
    closing.join(_CLOSE_SECONDS)
    if team.lost() is not None:
        return fault  # This process ends before TensorFlow gives up waiting.
    if _runs_python(closing, max(until - time.monotonic(), _END_SECONDS / 10)):
        places = "; ".join(stacks.of_input())
        TENSORFLOW.warning(
            "%s still runs %.0f seconds after the last step; going on without it.%s Look in"
            " its generator, py_func or queue for a wait without a limit.",
            option("input_fn"),
            _END_SECONDS,
            f" It is in {places}." if places else "",
        )
    return fault


def _runs_python(closing: threading.Thread, limit: float) -> bool:
    """Waits for a session that is being closed as long as Python code runs inside it.

    Args:
        closing: the thread that closes the session.
        limit: seconds to wait at most.

    Returns:
        Whether Python code still runs.
    """
    seen = began = time.monotonic()
    while closing.is_alive():
        now = time.monotonic()
        if stacks.in_input():
            seen = now
            if now - began >= limit:
                return True
        elif now - seen >= _CLOSE_SECONDS:  # Else it may be between two calls.
            break
        closing.join(_LOOK_SECONDS)
    return False


def _join(
    coordinator: tf.train.Coordinator, threads: Sequence[threading.Thread]
) -> Exception | None:
    coordinator.request_stop()
    try:
        coordinator.join(threads, stop_grace_period_secs=_END_SECONDS, ignore_live_threads=True)
    except Exception as error:
        return error
    return None
