"""Gives a program's sessions a thread for each exchange that their graph has.

An exchange holds a thread until all processes have come to it. Operations of a graph that do not
depend on each other run in any order, so two processes whose threads are few could each wait for
another exchange, and none would ever be made. (`tf.function` keeps the order of the program.)
"""

from __future__ import annotations

import functools
import os
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.client import session

_EXCHANGE = "PyFunc"
_SPARE = 16  # Exchanges that a graph gets after its session was made, and those in functions.


def give() -> None:
    """Makes sessions in this process have enough threads from now on; once in a process."""
    original = session.BaseSession.__init__
    if hasattr(original, "gives_threads"):
        return

    @functools.wraps(original)
    def __init__(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
        if not target:  # A session of a server has the server's threads.
            config = _with_threads(config, graph or tf.get_default_graph())
        original(self, target, graph, config)

    __init__.gives_threads = True  # type: ignore[attr-defined]
    session.BaseSession.__init__ = __init__


def _with_threads(config: Any, graph: tf.Graph) -> Any:
    """Returns a session's settings with enough threads between operations."""
    exchanges = sum(operation.type == _EXCHANGE for operation in graph.get_operations())
    least = exchanges + _SPARE + (os.cpu_count() or 1)
    roomy = tf.ConfigProto()
    if config is not None:
        roomy.CopyFrom(config)
    pools = roomy.session_inter_op_thread_pool
    if not pools:
        pools.add(num_threads=max(least, roomy.inter_op_parallelism_threads))
    for pool in pools:
        pool.num_threads = max(least, pool.num_threads)
    return roomy
