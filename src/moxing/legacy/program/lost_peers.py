"""Finds out that a program ended because of another process.

Another process may have the port that TF_CONFIG gives this one. Where a process of the cluster is
gone, TensorFlow's collectives and its remote calls fail with an `UnavailableError`, whose text
names the other process somewhere behind the operation that failed. Graphs of Horovod programs call
Python code that finds the loss; TensorFlow makes an `UnknownError` of it.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from moxing.cluster import failure
from moxing.cluster.cluster import named
from moxing.cluster.failure import PeerFailureError
from moxing.cluster.rendezvous import ports

_TARGET = re.compile(r"remote target /job:(\w+)(?:/replica:\d+)?/task:(\d+)")
_REASON = re.compile(r"Collective ops is aborted by: ([^\n]+)|grpc_message:\"([^\"]+)\"")


def told(error: BaseException) -> BaseException:
    """Returns an error that names the other process in place of TensorFlow's error.

    Args:
        error: the error that ended the program. An error about something else is returned itself.
    """
    found = failure.wrapped(error)
    if found is not None:
        found.__cause__ = error
        return found.with_traceback(error.__traceback__)
    if type(error).__name__ == "UnknownError":
        cluster, task = _config("cluster"), _config("task")
        return ports.told(error, cluster, task.get("type"), task.get("index"))
    if type(error).__name__ != "UnavailableError":
        return error
    text = str(error)
    target, reason = _TARGET.search(text), _REASON.search(text)
    if target is None and "Collective ops is aborted" not in text:
        return error
    who = "another process of the cluster"
    if target is not None:
        who = named(f"{target[1]} {target[2]}", _address(target[1], int(target[2])))
    why = f" ({reason[1] or reason[2]})" if reason else ""
    lost = PeerFailureError(
        f"{who} ended, or can't be reached any more{why}; its own output says why. Start all"
        " processes again: those that restore a checkpoint at their start go on from there, and"
        " `mox launch` starts them by itself."
    )
    lost.__cause__ = error
    return lost.with_traceback(error.__traceback__)


def _address(job: str, task: int) -> str:
    """Returns a task's address by TF_CONFIG; an empty string if it is not listed there."""
    try:
        listed = _config("cluster")[job][task]
    except (KeyError, IndexError, TypeError):
        return ""
    return listed if isinstance(listed, str) else ""


def _config(part: str) -> dict[str, Any]:
    """Returns an object of TF_CONFIG; an empty one if it is not there."""
    try:
        found = json.loads(os.environ.get("TF_CONFIG", ""))[part]
    except (ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}
