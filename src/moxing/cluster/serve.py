"""Runs a parameter server: TensorFlow's server, until the last worker is finished."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moxing import native_noise
from moxing.cluster.cluster import PS, WORKER, Cluster
from moxing.cluster.control.member import Member
from moxing.cluster.rendezvous import ports
from moxing.logs import TENSORFLOW


def start_server(cluster: Cluster, protocol: str = "grpc", config: Any = None) -> Any:
    """Starts TensorFlow's server of this task, which lives as long as the process.

    Args:
        cluster: has the server's addresses.
        protocol: as `tf.train.Server` takes it.
        config: a `tf.ConfigProto`; None for TensorFlow's defaults.

    Raises:
        MoxRuntimeError: another process took the server's port since this task held it.
    """
    import tensorflow.compat.v1 as tf

    jobs = {WORKER: list(cluster.workers)} | ({PS: list(cluster.ps)} if cluster.ps else {})
    native_noise.drop_from_now_on()
    # The server looks for GPUs, and logs a missing driver as an error.
    with native_noise.dropped():
        try:
            return tf.train.Server(jobs, cluster.job, cluster.index, protocol, config)
        except tf.errors.UnknownError as error:
            raise ports.told(error, jobs, cluster.job, cluster.index) from None


def serve_ps(
    member: Member,
    start: Callable[[Cluster], Any] = start_server,
    turn: Callable[[], None] = lambda: None,
) -> None:
    """Serves variables until every worker is finished.

    It returns within about a second of the last worker's end; the process then exits, which ends
    TensorFlow's server (there is no other way to end it).

    Args:
        member: this task, joined.
        start: makes the server.
        turn: called about twice a second meanwhile.

    Raises:
        PeerFailureError: a task failed, died or stands still: the first cause.
    """
    server = start(member.cluster)
    TENSORFLOW.info(
        "%s serves at %s until all workers are finished",
        member.cluster.task,
        member.cluster.address,
    )
    member.wait_for_workers(turn)
    TENSORFLOW.info("All workers are finished: %s ends", member.cluster.task)
    del server
