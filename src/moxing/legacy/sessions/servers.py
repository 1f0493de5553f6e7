"""`tf.train.Server` for programs that start the servers of a cluster themselves."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from moxing import native_noise
from moxing.cluster.rendezvous import ports

_FAIL_FAST = "GRPC_FAIL_FAST"


class Server(tf.train.Server):
    """A server that waits for tasks that have not started yet, as TensorFlow 1.x did.

    TensorFlow 2.x gives up a call to a task whose port is still closed. Its native code asks the
    environment at each call; a program that sets the variable itself keeps its value.

    Raises:
        MoxRuntimeError: the port of the server's task is taken.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        os.environ.setdefault(_FAIL_FAST, "false")
        native_noise.drop_from_now_on()
        with (
            names_port(server_or_cluster_def, job_name, task_index),
            native_noise.dropped(),
        ):
            super().__init__(server_or_cluster_def, job_name, task_index, *args, **kwargs)


@contextlib.contextmanager
def names_port(given: Any, job: str | None, index: int | None) -> Iterator[None]:
    """Has an error of a server's start name the port that the server lacks.

    Args:
        given: the description of the server or of the cluster, as the server takes it.
        job: the job of the server's task; None if `given` has it.
        index: the number of the server's task; None if `given` has it.
    """
    try:
        yield
    except tf.errors.UnknownError as error:
        if isinstance(given, tf.train.ServerDef):
            job = job or given.job_name
            index = given.task_index if index is None else index
            given = given.cluster
        raise ports.told(error, tf.train.ClusterSpec(given).as_dict(), job, index) from None
