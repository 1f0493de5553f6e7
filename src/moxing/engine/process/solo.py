"""A process alone, as a team of one process: it has the methods of `Team`, without effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import devices, hardware
from moxing.engine.job.placement import Placement, ProcessGroup
from moxing.engine.parallel.place import Place
from moxing.engine.process.escape import Escape

if TYPE_CHECKING:
    from moxing.signals import StopRequest


@dataclass(frozen=True)
class Left:
    """The end of a run whose last step still waits for data: all processes leave this step.

    Attributes:
        step: the global step before the step that waits.
        saved: whether that global step is saved.
    """

    step: int
    saved: bool


class Solo:
    """A process without others: it agrees with itself and waits for nobody.

    Attributes:
        alone: whether there is no other process.
        is_chief: whether this process saves and exports.
        size: how many workers there are.
        apart: whether workers share the steps of a run and do not wait for each other.
        target: the server that sessions connect to; empty: a session inside this process.
        escape: the way out of a session that waits for a lost process.
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
        """Sets the options of sessions that depend on this process's devices and the cluster."""
        machine = devices.machine()
        meets = hardware.exchange(machine, together, group.devices) is not None
        hardware.configure(config, machine, group.devices, meets)

    def place(self, placement: Placement) -> Place:
        """Returns the place of a training: the devices of its variables, and how gradients meet."""
        return Place(placement.together)

    def agree(self, what: Mapping[str, Any] | None) -> dict[str, Any]:
        """Returns the chief's facts about a run, in every process."""
        return dict(what or {})

    def barrier(self, name: str, timeout: float | None) -> None:
        """Waits until every worker is at the same point of the same run."""

    def forget(self, container: str) -> None:
        """Drops the variables of a container in all processes."""

    @contextmanager
    def steps(self, session: tf.Session, request: StopRequest) -> Iterator[None]:
        """Does nothing; `Team.steps` passes signals on and breaks off steps that can't end."""
        del session, request
        yield

    def alive(self, session: tf.Session, group: ProcessGroup, stack: ExitStack) -> tf.Session:
        """Returns the session; if `steps` had to close it, a new session on the same variables."""
        del group, stack
        return session

    def lost(self) -> str | None:
        """Returns a sentence that says which process was lost; None if none was."""
        return None

    def tell_stop(self, number: int) -> None:
        """Tells the other processes of a signal, from a thread beside the main thread."""

    def stop_signal(self) -> int | None:
        """The number of the signal to a process for which all stop; None if there was no signal."""
        return None

    def tell_left(self, left: Left) -> None:
        """In the chief: tells the others to leave a step that waits, as the chief does."""

    def left(self) -> Left | None:
        """The end of the run, as the chief has announced it; None before the announcement."""
        return None

    def leave(self, error: BaseException) -> None:
        """Tells the other processes about an error that ends this process's run."""

    def hear_of_stop(self, request: StopRequest) -> None:
        """If another process got the signal for which all stop, records it as this process's."""

    def wait_kept(self) -> None:
        """Waits until the chief has saved and stored the run, or is lost."""
