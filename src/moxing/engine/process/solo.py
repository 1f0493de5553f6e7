"""A process alone, as a team of one: what runs call of a `Team`, at no cost and with no effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import devices, hardware
from moxing.engine.job.placement import Placement, ProcessGroup
from moxing.engine.parallel.place import Place
from moxing.engine.process.escape import Escape

if TYPE_CHECKING:
    from moxing.signals import StopRequest


class Solo:
    """A process without others: it agrees with itself and waits for nobody.

    Attributes:
        alone: whether there is no other process.
        is_chief: whether this process saves and exports.
        size: how many workers there are.
        apart: whether workers do not wait for each other, and share the steps of a run.
        target: where sessions connect to; empty: TensorFlow's session inside this process.
        escape: the way out of a session that waits for a process that is lost.
    """

    alone = True
    is_chief = True
    size = 1
    apart = False
    target = ""

    def __init__(self) -> None:
        self.escape = Escape()

    def configure(
        self, config: tf.ConfigProto, group: ProcessGroup, together: bool | None = None
    ) -> None:
        """Sets what sessions must know of this process's devices, and of the cluster."""
        machine = devices.machine()
        meets = hardware.exchange(machine, together, group.devices) is not None
        hardware.configure(config, machine, group.devices, meets)

    def place(self, placement: Placement) -> Place:
        """Where the graph of a training run goes."""
        return Place(placement.together)

    def agree(self, what: Mapping[str, Any] | None) -> dict[str, Any]:
        """The chief's facts of a run, in every process."""
        return dict(what or {})

    def barrier(self, name: str, timeout: float | None) -> None:
        """Waits for the same point of the same run in every worker."""

    def forget(self, container: str) -> None:
        """Drops the variables of a container in all processes."""

    @contextmanager
    def steps(self, session: tf.Session, request: StopRequest) -> Iterator[None]:
        """While the block runs steps, signals here are told to the other processes, and a step that
        waits for a process without more data is broken off."""
        del session, request
        yield

    def alive(self, session: tf.Session, group: ProcessGroup, stack: ExitStack) -> tf.Session:
        """The session, or another on the same variables where `steps` had to close it."""
        del group, stack
        return session

    def lost(self) -> str | None:
        """The sentence that says which process was lost; None: none was."""
        return None

    def hear_of_stop(self, request: StopRequest) -> None:
        """Takes a signal of another process, to which all have stopped, for one of this one."""

    def wait_kept(self) -> None:
        """Waits until the chief has kept the run, or is lost."""
