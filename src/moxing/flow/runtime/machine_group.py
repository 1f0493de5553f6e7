"""A session with other machines: it meets them, leads or follows them, and ends with them.

Every machine runs the same program up to the start of the session, so every machine has the jobs,
and traces them: readers of data and other Python code then run where their data is, and gradients
meet in TensorFlow's collectives. From then on machine 0, the master, alone runs the program. Before
each step it names the job to the others, which stay inside the session's start and run that step of
their own graph; so no code after the start prints, saves or counts twice. When the master's program
ends, the others end with status 0.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import io
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import tensorflow.compat.v1 as tf

from moxing.cluster.cluster import Cluster
from moxing.cluster.failure import PeerFailureError
from moxing.engine.job.placement import ProcessGroup
from moxing.engine.process import team
from moxing.errors import MoxNotSupportedError, MoxRuntimeError
from moxing.flow.runtime import addresses
from moxing.flow.runtime.settings import Settings
from moxing.flow.trace.exchange import Exchange
from moxing.logs import TENSORFLOW, reset_logger

_START_SECONDS, _STALL_SECONDS = 300, 60  # `flow.env.start_timeout` and `stall_timeout`.
# Settings that may differ between machines, so that they are not compared.
_PERSONAL = ("machine", "start_timeout", "log_dir", "cpu_device_num")
_END = "end"


class MachineGroup:
    """The other machines, for one session.

    Attributes:
        index: this machine's number.
        exchange: the operations by which graphs of the machines meet.
    """

    def __init__(self, cluster: Cluster, settings: Settings) -> None:
        """Args: cluster: the machines. settings: of the session."""
        self.index = cluster.index
        self._patience = float(settings.values.get("start_timeout", _START_SECONDS))
        self._steps, self._over = 0, False
        self._process = os.getpid()
        self._group = _process_group(cluster, settings)
        _say_role(cluster)
        self._team = team.enter(self._group)
        self.exchange = Exchange(cluster.index, cluster.size)

    @property
    def target(self) -> str:
        """The address to which sessions connect."""
        return self._team.target

    def configure(self, config: tf.ConfigProto) -> None:
        """Sets the options of a session that depend on the machines."""
        self._team.configure(config, self._group)

    def steps_begin(self, native: tf.Session) -> None:
        """From now on a step that waits for a lost machine is broken off."""
        self._team.escape.session = native

    def steps_end(self) -> None:
        """From now on no session call is broken off."""
        self._team.escape.session = None

    def saving(self) -> contextlib.AbstractContextManager[None]:
        """In the block, the loss of a machine does not break off the session call of a save."""
        return self._team.escape.saving()

    def compare(self, facts: Mapping[str, str]) -> None:
        """Waits until every machine has traced its jobs.

        Raises:
            MoxRuntimeError: the traced graphs differ.
            PeerFailureError: a machine failed.
        """
        with self._ending():
            found = self._team.member.all_gather("jobs", dict(facts), self._patience)
        for index, theirs in enumerate(found):
            for name in [*found[0], *theirs]:
                if found[0].get(name) != theirs.get(name):
                    raise MoxRuntimeError(
                        f"machine {index} differs from machine 0: {name} is"
                        f" {found[0].get(name, 'not there')} on machine 0 and"
                        f" {theirs.get(name, 'not there')} on machine {index}. Start the same"
                        " program with the same arguments on all machines."
                    )

    def tell(self, what: str, **details: Any) -> None:
        """On the master: tells the other machines what to run next."""
        self._steps += what == "step"
        self._team.member.report_step(self._steps)
        self._team.member.broadcast("next", {"what": what, **details}, None)

    def serve(self, handle: Callable[[str, Mapping[str, Any]], None]) -> NoReturn:
        """On another machine: runs what the master tells, until the master's program ends.

        Raises:
            SystemExit: with 0, at the end.
            PeerFailureError: a machine was lost, or its program failed.
        """
        TENSORFLOW.info("machine %d serves until the program of machine 0 ends", self.index)
        while (order := self._next())["what"] != _END:
            handle(order["what"], order)
            self._steps += order["what"] == "step"
            self._team.member.report_step(self._steps)
        TENSORFLOW.info("the program of machine 0 has ended: machine %d ends", self.index)
        raise SystemExit(0)

    def _next(self) -> Mapping[str, Any]:
        with self._ending():
            return self._team.member.broadcast("next", None, None)

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        """In the block, a wait that another machine's failure ends raises that failure."""
        try:
            yield
        except PeerFailureError:
            reason = self._team.member.first_failure()
            raise PeerFailureError(
                f"{(reason or '').rstrip('.')}. So machine {self.index} ends."
            ) from None

    @contextlib.contextmanager
    def blaming(self) -> Iterator[None]:
        """An error of the block that is another machine's fault becomes an error that names it."""
        try:
            yield
        except Exception as error:
            cause = self._team.cause(error)
            if cause is not None:
                raise cause from error
            raise

    def leave(self, error: BaseException) -> None:
        """Tells the other machines about an error that ends this machine's part."""
        self._over = True
        self._team.leave(error)

    def end(self, finish: Callable[[], int]) -> None:
        """On the master, as its process ends: ends the others too.

        Args:
            finish: waits for queued steps; returns the exit code that a signal asked for, else 0.

        Raises:
            Exception: whatever `finish` raises; the others are told of it first.
        """
        # A forked child must not end other machines.
        if self._over or os.getpid() != self._process:
            return
        error: BaseException | None = getattr(sys, "last_value", None)
        if isinstance(error, SystemExit) and not error.code:
            error = None
        try:
            # The queued steps of a program that calls sys.exit, with any code, are to be run.
            if error is None or isinstance(error, SystemExit):
                asked = finish()
                error = SystemExit(asked) if asked else error
            if error is None:
                self.tell(_END)
        except BaseException as fault:
            self.leave(fault)
            raise
        if error is not None:
            self.leave(error)


def enter(settings: Settings, end: Callable[[MachineGroup], None]) -> MachineGroup | None:
    """Meets the other machines, if there are any; called once in a process.

    Args:
        settings: the settings of the session.
        end: is called as the process ends.

    Raises:
        MoxRuntimeError, MoxValueError: a machine is missing or differs, with the reason.
        MoxNotSupportedError: it is the second session of the process.
    """
    if settings.met:
        raise MoxNotSupportedError(
            "with several machines a program has one session: the others wait in its start, and do"
            " not reach what comes behind flow.clear_default_session()."
        )
    cluster = addresses.cluster(settings.values)
    if cluster is None:
        return None
    group = MachineGroup(cluster, settings)
    settings.met = True
    # The function that is registered last runs first: before the processes disconnect.
    atexit.register(end, group)
    return group


def quiet(group: MachineGroup | None) -> contextlib.AbstractContextManager[Any]:
    """Drops the output of a job's function, except on the master."""
    if group is None or group.index == 0:
        return contextlib.nullcontext()
    return contextlib.redirect_stdout(io.StringIO())


def facts(graph: tf.Graph, variables: Mapping[str, Any], jobs: Mapping[str, Any]) -> dict[str, str]:
    """Returns the facts about jobs that must be equal on all machines."""
    found = {"the list of jobs": ", ".join(jobs) or "empty"}
    for name, variable in variables.items():
        found[f"variable {name}"] = f"{variable.dtype.base_dtype.name} {variable.shape}"
    for name in jobs:
        sent = [_exchanged(op) for op in graph.get_operations() if op.name.startswith(f"{name}/")]
        text = " ".join(item for item in sent if item)
        found[f"the exchange of job {name}"] = hashlib.sha256(text.encode()).hexdigest()[:12]
    return found


def _exchanged(op: tf.Operation) -> str:
    """Words an operation's exchange with other machines, alike on all; empty if it has none."""
    if not op.type.startswith("Collective"):
        return ""
    if op.type.startswith("CollectiveBcast"):  # One side sends, the others receive.
        return f"give {op.outputs[0].dtype.name}"
    return f"{op.type} {op.outputs[0].dtype.name} {op.outputs[0].shape}"


def _process_group(cluster: Cluster, settings: Settings) -> ProcessGroup:
    """Returns the engine's description of the processes that train together."""
    values = settings.values
    shown = {k: str(v) for k, v in values.items() if k not in _PERSONAL}
    return ProcessGroup(
        cluster=cluster,
        devices=settings.devices,
        digest={f"flow.config.{name}": value for name, value in shown.items()},
        start_timeout=float(values.get("start_timeout", _START_SECONDS)),
        stall_timeout=float(values.get("stall_timeout", _STALL_SECONDS)),
    )


def _say_role(cluster: Cluster) -> None:
    if not logging.getLogger().handlers:
        reset_logger()
    role = "the master" if cluster.is_chief else "serves machine 0, the master"
    others = [address for i, address in enumerate(cluster.workers) if i != cluster.index]
    TENSORFLOW.info(
        "machine %d of %d (%s): %s; it waits for %s (each is called worker, with its number)",
        *(cluster.index, cluster.size, cluster.address, role, ", ".join(others)),
    )
