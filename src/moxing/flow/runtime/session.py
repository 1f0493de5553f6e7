"""The session: one graph of all jobs, their variables, and the order in which steps run."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import tensorflow.compat.v1 as tf

from moxing import leaving
from moxing.engine.graph import blame, compilable, devices, fusing, hardware, tf_executor
from moxing.engine.graph.rewrites import convolution_gradients, fused_sums
from moxing.engine.wording.user_calls import location
from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.flow.runtime import exit_status, machine_group, signals
from moxing.flow.runtime.calls import Built, Handle
from moxing.flow.runtime.machine_group import MachineGroup
from moxing.flow.runtime.readers import Readers
from moxing.flow.runtime.settings import Settings
from moxing.flow.runtime.signals import Interrupts
from moxing.flow.runtime.step_queue import Worker
from moxing.flow.trace.conf import JobConf
from moxing.flow.trace.shards import Split
from moxing.flow.trace.topology import Topology
from moxing.flow.trace.variables import Variables, counts
from moxing.logs import TENSORFLOW

# The limit of a call that reads or assigns variables: larger calls need more memory beside them.
_MOST_AT_ONCE, _BYTES_AT_ONCE = 64, 64 << 20


class Traced(Protocol):
    """A job, as the session sees it."""

    name: str
    function: Any

    @property
    def later(self) -> bool:
        """Whether the job is declared as from 2020 on."""
        ...

    def trace(self, graph: tf.Graph, variables: Variables, topology: Topology) -> Built:
        """Runs the job's function once, to make its graph."""
        ...

    def run(self, built: Built, given: list[Any]) -> Any:
        """Runs one step; returns its result in the structure that the function returns."""
        ...

    def check(self, args: tuple[Any, ...], built: Built) -> list[Any]:
        """The arrays of a call, in the order of the graph's inputs."""
        ...


class Session:
    """Jobs that share variables. It starts at the first CheckPoint call or job call.

    Attributes:
        settings: the settings of its devices and machines.
        defaults: the values for jobs that do not set their own.
        topology: the devices and machines for which its graph is made.
        jobs: in the order of their definition, by name.
        closed: whether it has ended.
        ready: whether variables have values.
        readers: the readers of records of its jobs.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        """Args: settings: default: none is set."""
        self.settings, self.defaults = settings or Settings(), JobConf()
        self.jobs: dict[str, Traced] = {}
        self.closed = False
        self.ready = False
        self._built: dict[str, Built] = {}
        self.readers = Readers(self._built, self._tell)
        self._worker: Worker | None = None
        convolution_gradients.install()
        fused_sums.install()
        self.graph = tf.Graph()
        self.variables = Variables(self.graph)
        self.native: tf.Session | None = None
        self._interrupts: Interrupts | None = None
        self._process = 0  # The id of the process that started the session.
        self._setters: dict[str, tuple[tf.Tensor, tf.Operation]] = {}
        self._group: MachineGroup | None = None
        self._wholes: dict[str, tf.Tensor] = {}  # The whole values of variables in parts.
        self._given: tf.Operation | None = None

    @property
    def topology(self) -> Topology:
        """The devices and machines for which the graph is made."""
        group = self._group
        return Topology(self.settings.devices, group.exchange if group is not None else None)

    @property
    def started(self) -> bool:
        """Whether the jobs have become graphs."""
        return self.native is not None

    def start(self) -> None:
        """Traces all jobs in the order of their definition and opens the session; once."""
        self._require_not_closed()
        if self.started:
            self._require_own_process()
            return
        self.settings.fixed = True
        leaving.install()
        self._group = machine_group.enter(self.settings, _end)
        if self._group is None:
            self._open(None)
            return
        # From now on the other machines are told about a signal.
        self._interrupts = Interrupts()
        try:
            with self._group.blaming():
                self._open(self._group)
                if self._group.index:
                    self._group.serve(self._follow)
        except BaseException as error:
            if not isinstance(error, SystemExit) or error.code:
                self._group.leave(error)
            raise
        finally:
            if self._group.index:
                self.close()

    def _open(self, group: MachineGroup | None) -> None:
        count, topology = self._open_devices(), self.topology
        self.graph = tf.Graph()
        self.variables = Variables(self.graph)
        self._built.clear()  # A start that failed may have left jobs here.
        with topology.scope(), machine_group.quiet(group):
            for job in self.jobs.values():
                self._built[job.name] = job.trace(self.graph, self.variables, topology)
            self._make_setters()
        self.graph.finalize()
        config = tf.ConfigProto(allow_soft_placement=True)
        hardware.configure(config, devices.machine(), count, together=False)
        compilable.choose(config, self.graph)
        if group is not None:
            group.configure(config)
            fusing.configure(config, self.graph)
            group.compare(machine_group.facts(self.graph, self.variables.by_name, self.jobs))
        elif count == 1 and not devices.has_gpu():
            config.experimental.executor_type = tf_executor.choose(self.graph.get_operations())
        native = tf.Session(group.target if group else "", graph=self.graph, config=config)
        for job, built in self._built.items():
            self.readers.open(native, job)
            feeds = [tensor for tensors in built.inputs for tensor in tensors]
            if group is not None and group.index:  # This machine gets the master's values.
                built.call = native.make_callable(tf.nest.map_structure(_done, built.fetches))
            else:
                built.call = native.make_callable(built.fetches, feed_list=feeds)
        self.native, self._worker, self._process = native, Worker(), os.getpid()
        if group is not None:
            group.steps_begin(native)
        self._interrupts = self._interrupts or Interrupts()
        self._interrupts.steps_begin(self._worker.drop)

    def _open_devices(self) -> int:
        """How many devices the session has.

        Raises:
            MoxValueError: there are GPUs, but fewer than the session needs.
        """
        count = self.settings.devices
        present = len(tf.config.list_physical_devices("GPU")) if devices.has_gpu() else 0
        if present and count > present:
            raise MoxValueError(
                f"flow.config.gpu_device_num({count}), but this machine has {present} that"
                " TensorFlow can use. Lower it, or look at CUDA_VISIBLE_DEVICES."
            )
        return len(devices.local(count))

    def _make_setters(self) -> None:
        """Makes operations that assign a value to a variable, and the master's values to all."""
        exchange = self.topology.exchange
        with self.graph.as_default(), tf.name_scope("load"):
            given = []
            for name, variable in self.variables.by_name.items():
                value = tf.placeholder(variable.dtype.base_dtype, variable.shape)
                if isinstance(variable, Split):
                    self._make_setter_of_parts(name, variable, value)
                    continue
                self._setters[name] = (value, variable.assign(value).op)
                if exchange is not None:
                    value = exchange.given(variable.read_value())
                    given.append(value.op if exchange.is_master else variable.assign(value))
            self._given = tf.group(*given)

    def _make_setter_of_parts(self, name: str, variable: Split, value: tf.Tensor) -> None:
        exchange = self.topology.exchange
        sent = value if exchange is None else exchange.given(value)
        self._setters[name] = value, variable.assign(sent)
        with tf.device(variable.devices[0]):
            reads = [part.read_value() for part in variable.parts]
        self._wholes[name] = variable.joined(reads, variable.axis)

    def _follow(self, what: str, order: Mapping[str, Any]) -> None:
        """Does, on a machine that is not the master, the same work as the master."""
        assert self.native is not None
        if what == "step":
            job = self.jobs[order["job"]]
            self._step(job, self._built[job.name], [])
        elif what == "assign":
            self.native.run(self._setters[order["name"]][1])
        elif what == "collect":
            self.native.run(self._wholes[order["name"]].op)
        elif what == "readers":
            self.readers.open(self.native, order["job"], order["batches"])
        else:
            self.native.run(self._given)

    def call(self, job: Traced, args: tuple[Any, ...]) -> Handle | None:
        """Queues a step of a job."""
        self.start()
        assert self._worker is not None
        built = self._built[job.name]
        values = job.check(args, built)
        if not self.ready and self.variables.by_name:
            raise MoxRuntimeError(
                f"job {job.name} was called before its variables have values. Call"
                " flow.train.CheckPoint().init() or .load(path) first."
            )
        future = self._worker.submit(lambda: self._step(job, built, values))
        return None if built.result is None else Handle(job.name, future, self._worker)

    def _step(self, job: Traced, built: Built, values: list[Any]) -> Any:
        try:
            if self._group is None:
                return self._stepped(job, built, values)
            with self._group.blaming():
                if not self._group.index:
                    self._group.tell("step", job=job.name)
                    return self._stepped(job, built, values)
                assert built.call is not None
                return built.call()
        except tf.errors.OpError as error:
            for reader in built.readers:
                reader.explain()
            error.add_note(blame.about(error, self.graph, f"in a step of job {job.name}"))
            raise

    def _stepped(self, job: Traced, built: Built, values: list[Any]) -> Any:
        self.readers.stepped(job.name)
        return job.run(built, values)

    def in_order(self, work: Callable[[tf.Session], Any]) -> Any:
        """Runs `work` after all steps that were called, and returns its result."""
        self.start()
        assert self._worker is not None
        native = self.native
        assert native is not None
        if self._group is None:
            return self._worker.submit(lambda: work(native)).result()
        return self._worker.submit(self._group.blaming()(lambda: work(native))).result()

    def initialize(self, native: tf.Session, names: list[str] | None = None) -> None:
        """Gives variables their first values; default: all."""
        chosen = list(self.variables.by_name if names is None else names)
        parted = [name for name in chosen if name in self._wholes]
        found = self.variables.by_name
        native.run([found[name].initializer for name in chosen if name not in parted])
        for name in parted:
            self.assign(native, {name: native.run(found[name].initial)})

    def saving(self) -> contextlib.AbstractContextManager[None]:
        """In the block, this machine saves, which it ends even if another machine is lost.

        Variables in parts on several machines can't be saved without these machines.
        """
        if self._group is None or self._wholes:
            return contextlib.nullcontext()
        return self._group.saving()

    def grouped(self, names: Iterable[str]) -> Iterator[list[str]]:
        """Yields the names of variables that one call of `assign` or `values` serves.

        For each new set of operations TensorFlow prunes the whole graph, which takes longer than to
        copy a small variable. A variable in parts is in a group of its own.
        """
        group: list[str] = []
        size = 0
        for name in names:
            if name in self._wholes:
                yield [name]
                continue
            variable = self.variables.by_name[name]
            own = variable.shape.num_elements() * variable.dtype.base_dtype.size
            if group and (len(group) == _MOST_AT_ONCE or size + own > _BYTES_AT_ONCE):
                yield group
                group, size = [], 0
            group.append(name)
            size += own
        if group:
            yield group

    def assign(self, native: tf.Session, values: Mapping[str, Any]) -> None:
        """Gives the variables of a group of `grouped` values."""
        setters = {name: self._setters[name] for name in values}
        for name in values:
            if name in self._wholes:
                self._tell("assign", name=name)
        feeds = {placeholder: values[name] for name, (placeholder, _) in setters.items()}
        native.run([operation for _, operation in setters.values()], feeds)

    def values(self, native: tf.Session, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """Yields names and values; variables in parts are put together from all machines."""
        for group in self.grouped(names):
            if group[0] in self._wholes:
                self._tell("collect", name=group[0])
                yield group[0], native.run(self._wholes[group[0]])
            else:
                found = native.run([self.variables.by_name[name] for name in group])
                yield from zip(group, found, strict=True)

    def _tell(self, what: str, **details: Any) -> None:
        if self._group is not None:
            self._group.tell(what, **details)

    def share(self, native: tf.Session) -> None:
        """Gives all machines the master's values of the variables."""
        if self._group is not None:
            self._group.tell("share")
            native.run(self._given)

    def _drain_at_end(self) -> bool:
        """Waits for all steps, but not long after a signal; returns whether they are done."""
        if self._worker is None:
            return True
        interrupts = self._interrupts
        if self._worker.drain(lambda: interrupts is not None and interrupts.overdue):
            return True
        TENSORFLOW.warning(
            "The step that runs waits for its data, or in a callback, and has not ended %.0f s"
            " after the signal: leaving without it. What CheckPoint.save has saved is whole.",
            signals.PATIENCE,
        )
        return False

    def close(self, exiting: bool = False) -> int:
        """Waits for queued steps, and ends the session.

        Args:
            exiting: whether the process ends.

        Returns:
            The exit code that a signal asked for; 0 without a signal.
        """
        if self.closed or (self.started and os.getpid() != self._process):
            return 0
        self.closed = True
        if self._interrupts is not None:
            self._interrupts.end_begins()
        done = True
        try:
            done = self._drain_at_end()
        finally:
            asked = self._interrupts is not None and self._interrupts.asked
            reached = self._reached() if asked and self.started and done else ""
            if self._worker is not None and done:
                self._worker.close()
            if self._group is not None:
                self._group.steps_end()
            if self.native is not None and done:  # Else closing would wait for the step, too.
                self.native.close()
            if self._interrupts is not None:
                self._interrupts.ended(reached, exiting)
        return self._interrupts.exit_code if self._interrupts is not None else 0

    def _reached(self) -> str:
        """Words how many steps the train jobs have made."""
        assert self.native is not None
        assert self._worker is not None
        counters = counts(self.variables.by_name) if self.ready else {}
        steps = [f"step {self.native.run(v)[0]} of job {job}" for job, v in counters.items()]
        dropped = f"; {self._worker.dropped} calls in the queue were not made"
        return (" and ".join(steps) or "the step that ran") + dropped * bool(self._worker.dropped)

    def _require_own_process(self) -> None:
        if os.getpid() != self._process:
            raise MoxRuntimeError(
                "the session was started by another process, of which this one is a fork without"
                " its threads. Call jobs and CheckPoint where the session started; child processes"
                " may prepare data for it."
            )

    def _require_not_closed(self) -> None:
        if self.closed:
            raise MoxRuntimeError(
                "this job is of a session that flow.clear_default_session() closed; define it"
                " again."
            )


_default: list[Session] = []


def default() -> Session:
    """The open session."""
    if not _default:
        _default.append(Session())
    return _default[0]


def register(job: Traced) -> Session:
    """Adds a job to the open session.

    Raises:
        MoxRuntimeError: the session has started.
        MoxValueError: it has a job of that name.
    """
    session = default()
    if session.started:
        raise MoxRuntimeError(
            f"job {location(job.function)} was defined after the session started. Define all jobs"
            " before the first CheckPoint call and the first job call, or call"
            " flow.clear_default_session() to begin another session."
        )
    if job.name in session.jobs:
        raise MoxValueError(
            f"job {location(job.function)} has the name of"
            f" {location(session.jobs[job.name].function)}. Give it another."
        )
    session.jobs[job.name] = job
    return session


def require_open(place: str) -> None:
    """Raises an error if defaults of jobs would come too late."""
    if _default and _default[0].started:
        raise MoxRuntimeError(f"{place} was called after the session started; call it before.")


def clear_default_session() -> None:
    """Closes the session with its jobs and variables, and begins another one.

    The machine's settings stay, and may be changed until the next session starts. As in the
    original, the numbers of devices and machines stay only if no job of the session was declared by
    names of December 2019 and later.
    """
    settings = None
    if _default:
        later = any(job.later for job in _default[0].jobs.values())
        settings = _default[0].settings.renewed(later)
    while _default:
        _default.pop().close()
    _default.append(Session(settings))


def _finish() -> int:
    """Ends the session as the process ends; the exit code that a signal asked for, else 0."""
    return max((session.close(exiting=True) for session in _default), default=0)


atexit.register(exit_status.finish, _finish)


def _end(group: MachineGroup) -> None:
    """The end of a process that is one of several machines."""
    if group.index == 0:
        exit_status.finish(lambda: group.end(_finish))


def _done(fetched: Any) -> tf.Operation:
    return fetched if isinstance(fetched, tf.Operation) else fetched.op
