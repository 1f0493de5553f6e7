"""This process's part in a cluster, from its first run to its end."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import tensorflow.compat.v1 as tf

from moxing.cluster import reach
from moxing.cluster.cluster import PS, Cluster
from moxing.cluster.control.channel import join
from moxing.cluster.control.member import Member
from moxing.cluster.failure import TOLD_TO_STOP, PeerFailureError
from moxing.cluster.serve import serve_ps, start_server
from moxing.engine.job.placement import Placement, ProcessGroup
from moxing.engine.parallel.place import CollectivePlace, Place, ServerPlace
from moxing.engine.process import farewell
from moxing.engine.process.solo import Left, Solo
from moxing.engine.process.stopping import stop_on_signals
from moxing.engine.wording.option_names import option
from moxing.errors import MoxError, MoxValueError
from moxing.logs import TENSORFLOW

if TYPE_CHECKING:
    from moxing.signals import StopRequest

_LEADER = "/job:worker/replica:0/task:0"
_REASON_SECONDS = 5.0  # Seconds to wait for the reason of a failed step.
_DRAIN_SECONDS = 1.0
_PEER_SECONDS = 1.0  # Seconds that a step has to end by itself after another process's data ended.
_PATIENCE = 5.0  # Seconds of waiting for the chief before a log line says so.

_INPUT_ENDED = "input_ended"
_CLOSED = "closed Session"  # TensorFlow's words for a call of a session that is closed.
_STOP = "stop"
_KEPT = "kept"
_LEFT = "left"
_SERVES = "serves"

# A process is in one cluster, for all of its runs: TensorFlow's server can't be taken down.
_current: list[Team] = []


class Team(Solo):
    """This process's connection to the others: the control channel, and TensorFlow's server.

    Attributes:
        member: the control channel.
        cluster: the processes.
        synchronous: whether workers update together.
        stack: closed at the end of the process.
        request: the stop request of signals to this process in the current run.
    """

    alone = False

    def __init__(self, member: Member, group: ProcessGroup, stack: ExitStack) -> None:
        super().__init__()
        self.member, self.cluster, self.stack = member, member.cluster, stack
        self.is_chief, self.size = self.cluster.is_chief, self.cluster.size
        self.synchronous = group.synchronous
        self.apart = not group.synchronous
        self.request: StopRequest | None = None
        self._closed = False
        self._on_servers = False
        self._runs = 0
        config = tf.ConfigProto()
        self.configure(config, group)
        self._server = start_server(self.cluster, config=config)
        self.target = self._server.target
        member.on_failure(self._break_off)

    def configure(
        self, config: tf.ConfigProto, group: ProcessGroup, together: bool | None = None
    ) -> None:
        """Sets the options of a server and its sessions that depend on the cluster."""
        super().configure(config, group, together)
        config.experimental.collective_group_leader = _LEADER
        if self.cluster.ps and not group.synchronous:
            # Each worker then starts and ends by itself.
            config.device_filters.extend(["/job:ps", f"/job:worker/task:{self.cluster.index}"])

    def check_reach(self, timeout: float) -> None:
        """Waits until all servers have started, and connects to the servers needed here.

        Raises:
            MoxRuntimeError: a process can't be reached.
        """
        if self.cluster.job == PS:
            self.member.announce(f"{_SERVES} {self.cluster.task}")
            return
        self.member.all_gather(_SERVES, None, timeout)
        for index in range(len(self.cluster.ps)):
            self.member.wait(f"{_SERVES} {PS} {index}", timeout)
        reach.check(self.cluster, workers=not (self.apart and self.cluster.ps))

    def place(self, placement: Placement) -> Place:
        index, size = self.cluster.index, self.cluster.size
        synchronous = placement.group.synchronous
        if placement.on_servers or not synchronous:
            check_servers(self.cluster)
            servers = len(self.cluster.ps)
            self._on_servers = True
            return ServerPlace(index, size, servers, synchronous, placement.compressed)
        return CollectivePlace(index, size, placement.compressed, placement.together)

    def agree(self, what: Mapping[str, Any] | None) -> dict[str, Any]:
        """Returns the chief's facts about a run, in every process.

        Waits as long as the chief lives: the chief may wait for a store, or fetch a checkpoint of
        any size.
        """
        self._runs += 1
        said = threading.Timer(_PATIENCE, TENSORFLOW.info, ["Waiting for worker 0 to begin."])
        said.daemon = True
        said.start()
        try:
            return dict(self.member.broadcast(f"start {self._runs}", what, None))
        finally:
            said.cancel()

    def barrier(self, name: str, timeout: float | None) -> None:
        """Waits until every worker is at the same point of the same run."""
        self.member.all_gather(f"{name} {self._runs}", None, timeout)

    def forget(self, container: str) -> None:
        """Drops the variables of a container in all processes."""
        if self.is_chief:
            tf.Session.reset(self.target, [container])

    @contextlib.contextmanager
    def steps(self, session: tf.Session, request: StopRequest) -> Iterator[None]:
        """In the block, breaks off a step that waits for a process whose data has ended.

        TensorFlow breaks off a step itself only if the others were waiting already. `alive` returns
        a session that works after the block. Signals of `request` are told to the other processes.
        """
        self.request = request
        over = threading.Event()
        name = f"{_INPUT_ENDED} {self._runs}"

        def watch() -> None:
            while not over.wait(0.2):
                event = self.member.event(name)
                if event is not None and event["task"] != self.cluster.task:
                    if not over.wait(_PEER_SECONDS):
                        self._closed = True
                        session.close()
                    return

        threading.Thread(target=watch, daemon=True, name="input of others").start()
        try:
            yield
        finally:
            self.escape.session = None  # A save that follows must not be broken off.
            over.set()

    def check(self, step: int) -> None:
        """Raises if a process was lost, since a run could go on for a while after the loss.

        Raises:
            PeerFailureError: a process was lost.
        """
        lost = self.lost()
        if lost is not None:
            raise PeerFailureError(_told(lost, step))

    def lost(self) -> str | None:
        return self.member.first_failure()

    def alive(self, session: tf.Session, group: ProcessGroup, stack: ExitStack) -> tf.Session:
        if not self._closed:
            return session
        self._closed = False
        config = tf.ConfigProto(allow_soft_placement=True)
        self.configure(config, group)
        return stack.enter_context(tf.Session(self.target, graph=session.graph, config=config))

    def input_ended(self, step: int) -> None:
        """Tells the other processes that this process has no data for step number `step`."""
        self.member.announce(f"{_INPUT_ENDED} {self._runs}", step=step)

    def peer_ended(self, error: tf.errors.OpError, step: int) -> str | None:
        """Finds the process whose data ended, if that broke off a step.

        Returns:
            The task whose data ended at this step; None if the error is this process's own.

        Raises:
            PeerFailureError: a process was lost.
        """
        if not _is_of_peers(error):
            return None
        name, deadline = f"{_INPUT_ENDED} {self._runs}", time.monotonic() + _REASON_SECONDS
        while time.monotonic() < deadline:
            ended, lost = self.member.event(name), self.member.first_failure()
            if ended is not None and ended["step"] == step:
                return str(ended["task"])
            if lost is not None:
                raise PeerFailureError(_told(lost, step)) from error
            time.sleep(0.05)
        return None

    def ask_to_stop(self) -> None:
        """Tells the other processes to stop, and by which signal, if a signal asks for it."""
        if not self.stop_was_asked():
            number = self.request.signal if self.request is not None else None
            self.member.announce(f"{_STOP} {self._runs}", signal=number)

    def tell_kept(self) -> None:
        """In the chief: tells the others that the run's files are all saved and stored."""
        if self.cluster.is_chief:
            self.member.announce(f"{_KEPT} {self._runs}")

    def wait_kept(self) -> None:
        """Waits, once all were told to stop, until the chief has stored the run or is lost.

        A process that left earlier would count as failed, and launchers would end the others.
        """
        if self.cluster.is_chief:
            return
        name, told, began = f"{_KEPT} {self._runs}", False, time.monotonic()
        while self.member.wait(name, 0.2) is None and self.member.first_failure() is None:
            if not told and time.monotonic() - began >= _PATIENCE:
                told = True
                TENSORFLOW.info("Waiting for worker 0, until what it has saved is in its place.")

    def tell_stop(self, number: int) -> None:
        if not self.stop_was_asked():
            self.member.announce(f"{_STOP} {self._runs}", signal=number)

    def stop_signal(self) -> int | None:
        number = (self._asked_to_stop() or {}).get("signal")
        return None if number is None else int(number)

    def tell_left(self, left: Left) -> None:
        if self.cluster.is_chief:
            self.member.announce(f"{_LEFT} {self._runs}", step=left.step, saved=left.saved)
            self.tell_kept()

    def left(self) -> Left | None:
        event = self.member.event(f"{_LEFT} {self._runs}")
        return None if event is None else Left(int(event["step"]), bool(event["saved"]))

    def hear_of_stop(self, request: StopRequest) -> None:
        event = self._asked_to_stop()
        if event is not None and event.get("signal") and not request:
            name = signal.Signals(event["signal"]).name
            TENSORFLOW.warning("%s got %s: all processes stop.", event["task"], name)
            request.signal = int(event["signal"])

    def stop_was_asked(self) -> bool:
        """Whether any process asked all to stop."""
        return self._asked_to_stop() is not None

    def cause(self, error: BaseException) -> PeerFailureError | None:
        """Returns the loss of another process that caused an error; None if no loss did."""
        if not _is_of_peers(error):
            return None
        self.member.wait("failed", _REASON_SECONDS)
        lost = self.member.first_failure()
        return None if lost is None else PeerFailureError(_told(lost, self.member.step or 0))

    def serve(self) -> None:
        """Runs a parameter server until no worker needs it any more.

        A signal to the server is passed on to the workers, which need the server to save their
        step.

        Raises:
            PeerFailureError: a process was lost.
            SystemExit: with 143 or 130, after a signal, once the workers have left.
        """
        with stop_on_signals() as request:

            def pass_on() -> None:
                if request and self.member.event(_STOP) is None:
                    self.member.announce(_STOP, signal=request.signal)

            try:
                serve_ps(self.member, lambda _: self._server, pass_on)
            except PeerFailureError:
                if not request and not self.member.was_stopped():
                    raise
                raise SystemExit(request.exit_code if request else TOLD_TO_STOP) from None
        if request:
            raise SystemExit(request.exit_code)

    def leave(self, error: BaseException) -> None:
        _current.clear()
        with contextlib.suppress(PeerFailureError):
            self.stack.__exit__(type(error), error, error.__traceback__)

    def _asked_to_stop(self) -> Mapping[str, Any] | None:
        """The request to stop of a parameter server, or of a worker in this run; or None."""
        return self.member.event(_STOP) or self.member.event(f"{_STOP} {self._runs}")

    def _break_off(self, reason: str) -> None:
        """Gets the main thread out of a step after a loss, or else ends this process."""
        TENSORFLOW.log(logging.INFO if self.member.was_stopped() else logging.ERROR, "%s", reason)
        lost = str((self.member.event("failed") or {}).get("task"))
        self.escape.take(saves_wait=self._on_servers and lost.startswith("ps"))


def enter(group: ProcessGroup) -> Team:
    """Returns this process's team; the first call waits until all of its processes are there.

    In a parameter server the call lasts until every worker is done.

    Raises:
        MoxRuntimeError, MoxValueError: the job can't start, with the reason.
        SystemExit: with 0, in a parameter server that is no longer needed.
    """
    assert group.cluster is not None
    if not _current:
        _current.append(_start(group.cluster, group))
    team = _current[0]
    if team.cluster != group.cluster:
        raise MoxValueError(
            "This process is in a cluster already, and a process is in one cluster only. Start"
            " another process for another cluster."
        )
    if team.cluster.job == PS:
        team.serve()
        raise SystemExit(0)
    return team


def of_chief(make: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Returns the chief's result of `make` in every worker, so that all decide alike.

    If workers do not wait for each other, all but the chief get an empty result.

    Args:
        make: called in the chief, and in a process without a cluster.
    """
    if not _current:
        return make()
    team = _current[0]
    made = make() if team.cluster.is_chief else {}
    if not team.synchronous:
        return made
    return dict(team.member.broadcast("evaluation", made, None))


def gathered(key: str, value: Any) -> list[Any]:
    """Returns the JSON values that the workers gave for `key`, in the order of the workers.

    Without a cluster, or if workers do not wait for each other, only this process's value.
    """
    if not _current or not _current[0].synchronous:
        return [value]
    return list(_current[0].member.all_gather(key, value, None))


def drain(session: tf.Session, sources: Sequence[tf.Operation]) -> tuple[int, bool]:
    """Counts, for at most a second, the steps left in the data; also returns whether it ended."""
    until, count = time.monotonic() + _DRAIN_SECONDS, 1  # The step that was broken off had data.
    while time.monotonic() < until:
        try:
            session.run(list(sources))
        except tf.errors.OutOfRangeError:
            return count, True
        except tf.errors.OpError:  # The readers ended with the session that was closed.
            return count, False
        count += 1
    return count, False


def _start(cluster: Cluster, group: ProcessGroup) -> Team:
    facts = {
        **group.digest,
        "the version of TensorFlow": tf.__version__,
    }
    stack = ExitStack()
    member = stack.enter_context(
        join(
            cluster,
            digest=facts,
            timeout=group.start_timeout,
            stall_timeout=group.stall_timeout,
        )
    )
    farewell.at_exit(stack)
    team = Team(member, group, stack)
    try:
        team.check_reach(group.start_timeout)
    except MoxError as error:
        team.leave(error)
        raise
    return team


def check_servers(cluster: Cluster) -> None:
    """Raises MoxValueError if a cluster has no parameter servers, for placements that need them."""
    if not cluster.ps:
        raise MoxValueError(
            f"Training on parameter servers ({option('servers')}) needs some: {option('ps_hosts')}"
        )


def _is_of_peers(error: BaseException) -> bool:
    """Whether the loss of another process may have caused an error."""
    if not isinstance(error, tf.errors.OpError):
        # The escape closes the session, also between two of its calls.
        return isinstance(error, RuntimeError) and _CLOSED in str(error)
    kinds = (
        *(tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError),
        *(tf.errors.InternalError, tf.errors.DeadlineExceededError, tf.errors.UnknownError),
    )
    return isinstance(error, kinds) or "ollective" in error.message


def _told(lost: str, step: int) -> str:
    return (
        f"{lost.rstrip('.')}. This process stopped at step {step}. Start all processes again:"
        " training goes on from the last checkpoint."
    )
