"""Sums arrays over processes with TensorFlow's collectives, in private sessions.

A program may run eagerly, in `tf.function` or in its own sessions, so the processes share no graph
that holds the gradients. So each sum is a step of a private graph on TensorFlow's server. Each sum
has a session of its own: a session takes no new operations while one of its steps runs, and that
step may wait for a process that waits for the new sum.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ops import collective_ops

from moxing.cluster.cluster import Cluster
from moxing.cluster.control.channel import join
from moxing.cluster.control.member import Member
from moxing.cluster.failure import PeerFailureError
from moxing.cluster.serve import start_server
from moxing.engine.process import farewell
from moxing.engine.process.escape import Escape
from moxing.errors import MoxRuntimeError
from moxing.logs import TENSORFLOW

_LEADER = "/job:worker/replica:0/task:0"
_GROUP = 1
_KEYS = 1 << 30
_START_SECONDS = 300.0
_STALL_SECONDS = 60.0
_REASON_SECONDS = 5.0
# The dtypes that a collective can sum; `_AS` maps other dtypes to the dtype used in their place.
_SUMMED = ("float16", "float32", "float64", "int32", "int64")
_AS = {"bfloat16": "float32", "bool": "int32", "uint8": "int32", "int8": "int32"}
_AS |= {"int16": "int32", "uint16": "int32", "uint32": "int64", "uint64": "int64"}


class Exchange:
    """The connection of this process to the other processes.

    Args:
        cluster: the processes.

    Raises:
        MoxError: the processes can't connect; the message gives the reason.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._stack = ExitStack()
        self._waiting = 0
        facts = {"the version of TensorFlow": tf.__version__, "the API": "horovod"}
        self._member: Member = self._stack.enter_context(
            join(
                cluster,
                digest=facts,
                timeout=_START_SECONDS,
                stall_timeout=_STALL_SECONDS,
                works=lambda: not self._waiting,
            )
        )
        farewell.at_exit(self._stack)
        self._config = tf.ConfigProto(device_count={"GPU": 0})
        self._config.experimental.collective_group_leader = _LEADER
        self._target = start_server(cluster, config=self._config).target
        self._sessions = _Sessions()
        self._calls: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._locks: dict[tuple[Any, ...], threading.Lock] = {}
        self._building = threading.Lock()
        self._escape = Escape()
        self._member.on_failure(self._break_off)

    def reduce(self, name: str, array: np.ndarray, merge: str = "Add") -> np.ndarray:
        """Returns the sum, or another reduction, of all processes' arrays of one name.

        Args:
            name: the name of the array, the same in all processes.
            array: this process's array, of the same shape and dtype in all processes.
            merge: the reduction: "Add", "Max", "Min" or "Mul".

        Raises:
            PeerFailureError: a process was lost.
            MoxRuntimeError: the dtype can't be summed.
        """
        own = array.dtype
        kind = own.name if own.name in _SUMMED else _AS.get(own.name, "")
        if not kind:
            raise MoxRuntimeError(f"horovod: {name} has type {own.name}, which has no sum.")
        array = np.ascontiguousarray(array, dtype=kind)
        key = (name, array.shape, kind, merge)
        with self._building:
            call = self._calls.get(key) or self._build(key)
            lock = self._locks.setdefault(key, threading.Lock())
        said = threading.Timer(_STALL_SECONDS, self._say_stalled, [name])
        said.daemon = True
        said.start()
        try:
            with lock:
                result = self._run(call, array)
        finally:
            said.cancel()
        return result.astype(own)

    def leave(self) -> None:
        """Tells the other processes that this one has finished, and waits for them."""
        self._stack.close()

    def _run(self, call: Callable[..., Any], array: np.ndarray) -> np.ndarray:
        with self._building:
            self._waiting += 1
            self._escape.enter(self._sessions)
        try:
            return np.asarray(call(array))
        except (tf.errors.OpError, RuntimeError) as error:
            self._member.wait("failed", _REASON_SECONDS)
            lost = self._member.first_failure()
            if lost is None:
                raise
            raise PeerFailureError(
                f"{lost.rstrip('.')}. Start all processes again: training goes on from the last"
                " checkpoint, if the program saves and restores one."
            ) from error
        finally:
            with self._building:
                self._waiting -= 1
                if not self._waiting:
                    self._escape.at_ease()

    def _build(self, key: tuple[Any, ...]) -> Callable[..., Any]:
        name, shape, kind, merge = key
        instance = zlib.crc32(repr(key).encode()) % _KEYS
        device = f"/job:worker/replica:0/task:{self.cluster.index}/device:CPU:0"
        graph = tf.Graph()
        with graph.as_default(), tf.device(device):
            fed = tf.placeholder(kind, shape)
            # A collective can't reduce an empty tensor, so append an element.
            flat = tf.concat([tf.reshape(fed, [-1]), tf.zeros([1], kind)], 0)
            summed = collective_ops.all_reduce(
                flat, self.cluster.size, _GROUP, instance, merge_op=merge, final_op="Id"
            )
            result = tf.reshape(summed[:-1], shape)
        session = self._sessions.opened(self._target, graph, self._config)
        call = session.make_callable(result, feed_list=[fed])
        self._calls[key] = call
        return call

    def _say_stalled(self, name: str) -> None:
        TENSORFLOW.warning(
            "horovod: waiting for %.0f s for the other processes to come to %s. All processes have"
            " to make the same calls: look for one that only some ranks make.",
            _STALL_SECONDS,
            name,
        )

    def _break_off(self, reason: str) -> None:
        TENSORFLOW.error("%s", reason)
        self._escape.take(saves_wait=False)


class _Sessions:
    """The sessions of all sums, which are closed together."""

    def __init__(self) -> None:
        self._opened: list[tf.Session] = []

    def opened(self, target: str, graph: tf.Graph, config: Any) -> tf.Session:
        """Returns a new session on the server at `target`."""
        session = tf.Session(target, graph=graph, config=config)
        self._opened.append(session)
        return session

    def close(self) -> None:
        """Breaks off the steps of all sessions; the end of one may wait for another's."""
        for session in list(self._opened):
            threading.Thread(target=session.close, name="break off", daemon=True).start()
