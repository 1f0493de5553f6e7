"""`tf.distribute.Server`: the server of a worker or ps that a coordinator gives its work to.

Such a process only calls `join`, which never returns in TensorFlow: somebody had to end these
processes when the coordinator, the task "chief", had ended. Here these processes notice the
coordinator's end themselves.
"""

from __future__ import annotations

import socket
import sys
import time
from typing import Any

import tensorflow as tf

from moxing import native_noise
from moxing.cluster.addresses import split
from moxing.cluster.cluster import named
from moxing.cluster.failure import MissingPeerError
from moxing.legacy.sessions import servers
from moxing.logs import TENSORFLOW

_CHIEF = "chief"
_PAUSE = 2.0
_CALL = 10.0
# Seconds: until the coordinator is first reached; until a silent machine is taken for gone.
_FIRST, _SILENT = 300.0, 30.0


class Server(tf.distribute.Server):
    """A server whose `join` ends the process when the coordinator has ended.

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
        native_noise.drop_from_now_on()
        with servers.names_port(server_or_cluster_def, job_name, task_index):
            super().__init__(server_or_cluster_def, job_name, task_index, *args, **kwargs)

    def join(self) -> None:
        """Waits for the end of the coordinator; forever, if the cluster lists none.

        Raises:
            SystemExit: the coordinator has ended. The program's next lines are not for this
                process: TensorFlow's `join` never comes to them.
            MissingPeerError: the coordinator did not start.
        """
        jobs = {job.name: dict(job.tasks) for job in self.server_def.cluster.job}
        address = jobs.get(_CHIEF, {}).get(0)
        if address is None:
            super().join()
            return
        watch(address, f"{self.server_def.job_name} {self.server_def.task_index}")
        sys.exit(0)


def watch(address: str, task: str, first: float = _FIRST, silent: float = _SILENT) -> None:
    """Returns when the coordinator has ended.

    Args:
        address: the address of the coordinator.
        task: this process, for messages.
        first: how many seconds the coordinator may take to start.
        silent: how many seconds its machine may not answer; a machine that refuses the connection
            says at once that the coordinator has ended.

    Raises:
        MissingPeerError: the coordinator did not start.
    """
    coordinator = named(f"{_CHIEF} 0", address)
    start = last = time.monotonic()
    met = False
    while True:
        found = _answers(address)
        now = time.monotonic()
        if found:
            met, last = True, now
        elif met and (found is False or now - last > silent):
            TENSORFLOW.info("The coordinator, %s, has ended; so does %s.", coordinator, task)
            return
        elif not met and now - start > first:
            raise MissingPeerError(
                f"{task} has waited {first:g} s for the coordinator, {coordinator}: nothing answers"
                " there. Start the program as the task chief 0, too; `mox launch --workers=2"
                " --ps=1` makes its first worker the coordinator."
            )
        time.sleep(_PAUSE)


def _answers(address: str) -> bool | None:
    """Whether a process listens at an address; None if its machine does not answer."""
    try:
        socket.create_connection(split(address), _CALL).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return None
    return True
