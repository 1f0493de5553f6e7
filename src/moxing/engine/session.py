"""Opens a session in which every variable has a value and every input is ready."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import tensorflow.compat.v1 as tf

from moxing.engine import blame, devices, executor
from moxing.engine.checkpoint import Restorer
from moxing.engine.job import Job
from moxing.errors import MoxRuntimeError

_JOIN_SECONDS = 10.0
QUEUE_THREAD = "in a thread that fills a queue of input_fn"


@contextmanager
def open_session(
    job: Job,
    graph: tf.Graph,
    initialize: tf.Operation,
    restorer: Restorer | None,
    input_initializers: Sequence[tf.Operation],
    coordinator: tf.train.Coordinator,
) -> Iterator[tf.Session]:
    """A session on the final `graph`; its queue runners end with the block.

    Args:
        job: thread pool sizes.
        graph: a finalized graph.
        initialize: gives values to whatever `restorer` does not restore.
        restorer: restores the rest; None: `initialize` does all.
        input_initializers: run after the variables have values.
        coordinator: for queue runners and hooks.
    """
    with tf.Session(graph=graph, config=_config(job, graph)) as session:
        with blame.noted(graph, "while variables were initialized"):
            session.run(initialize)
        if restorer is not None:
            restorer.run(session)
        with blame.noted(graph, "while the datasets of input_fn were opened"):
            session.run(list(input_initializers))
        threads = []
        if graph.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
            threads = tf.train.start_queue_runners(session, coordinator)
        try:
            yield session
        finally:
            with blame.noted(graph, QUEUE_THREAD):
                _stop(coordinator, threads)


def initializer(variables: Sequence[tf.Variable]) -> tf.Operation:
    """One operation that initializes these variables, all local variables and all tables."""
    return tf.group(
        tf.variables_initializer(list(variables)),
        tf.local_variables_initializer(),
        tf.tables_initializer(),
    )


def _config(job: Job, graph: tf.Graph) -> tf.ConfigProto:
    config = tf.ConfigProto(
        allow_soft_placement=True,
        inter_op_parallelism_threads=job.inter_op_threads,
        intra_op_parallelism_threads=job.intra_op_threads,
    )
    config.gpu_options.allow_growth = True
    if not devices.has_gpu():
        config.experimental.executor_type = executor.choose(graph.get_operations())
    return config


def _stop(coordinator: tf.train.Coordinator, threads: Sequence[object]) -> None:
    """Ends the queue runners; an error of one of them, such as a missing file, is raised here."""
    if not threads:
        return
    coordinator.request_stop()
    try:
        coordinator.join(threads, stop_grace_period_secs=_JOIN_SECONDS)
    except tf.errors.OutOfRangeError:
        pass
    except RuntimeError as error:
        raise MoxRuntimeError(
            f"An input thread did not end within {_JOIN_SECONDS:.0f} seconds after the last step."
            " It runs code of input_fn (a py_func or a queue): look there for an endless wait."
        ) from error
