"""One run, from a `Job` to its `Result`."""

from __future__ import annotations

import dataclasses
import secrets
import signal
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine import (
    blame,
    checkpoint,
    exchange,
    export,
    program,
    replicas,
    report,
    session,
    team,
    trial,
)
from moxing.engine.checkpoint import Checkpoint, Restorer, Saver, reader
from moxing.engine.console import open_console
from moxing.engine.finite import FiniteVariables, warn_of_metrics
from moxing.engine.home import run_at_home
from moxing.engine.hooks import HookChain
from moxing.engine.job import EVAL, Job, Result
from moxing.engine.listeners import Listeners
from moxing.engine.loop import Loop, Progress, check_data
from moxing.engine.place import ALONE, Place
from moxing.engine.profile import Profile
from moxing.engine.program import Program
from moxing.engine.records.recorder import Recorder, recording
from moxing.engine.run_state import belongs_to_run
from moxing.engine.signals import StopRequest
from moxing.engine.stopping import stop_on_signals
from moxing.engine.summaries import open_summaries
from moxing.engine.team import Team
from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW

# What a commit says beside the variables, under this key of its manifest.
_INPUT_ENDED = "input_ended_with_max_steps"
_INPUT_STEPS = "input_steps"
_INPUT_ORDER = "input_order"


def execute(job: Job) -> Result:
    """Runs a job; with a cluster, this process's part of it.

    Raises:
        MoxError: something of the job that cannot be run, with what to do about it.
        PeerFailureError: another process of the cluster was lost.
        SystemExit: with code 143 or 130, after SIGTERM or Ctrl-C and a last save; with 0 in a
            parameter server whose workers are done.
    """
    if job.cluster is None or job.cluster.alone:
        return _execute(job)
    crew = team.enter(job)
    try:
        if not job.training:
            return _evaluate_as_chief(job, crew)
        own = job if crew.cluster.is_chief else dataclasses.replace(job, **_NOT_CHIEF)
        return _execute(team.counted(own), crew)
    except BaseException as error:
        cause = crew.cause(error)
        if not isinstance(error, SystemExit) or error.code not in (0, None):
            crew.leave(error)
        if cause is not None:
            raise cause from error
        raise


# Files are the chief's alone.
_NOT_CHIEF: dict[str, Any] = {
    "log_dir": None,
    "checkpoint_path": None,
    "listeners": (),
    "export": False,
}


def _evaluate_as_chief(job: Job, crew: Team) -> Result:
    if crew.cluster.is_chief:
        return _execute(job)
    TENSORFLOW.info("%s leaves %s to worker 0.", crew.cluster.task, job.mode)
    return Result(0, 0)


def _execute(job: Job, crew: Team | None = None) -> Result:
    return run_at_home(job, lambda here: _execute_here(here, crew))


def _execute_here(job: Job, crew: Team | None) -> Result:
    with ExitStack() as stack:
        held, start = None, None
        if crew is None or crew.cluster.is_chief:
            if job.log_dir is not None and (job.training or job.export):
                checkpoint.ensure_directory(job.log_dir)
            if job.log_dir is not None and job.training:
                held = stack.enter_context(checkpoint.lock(job.log_dir))
            start = checkpoint.choose(job.log_dir, job.checkpoint_path, job.training)
        finished = _already_finished(job, start)
        facts = _agree(job, start, finished is not None, crew)
        if facts.finished and (start is None or not job.export):
            if finished is not None:
                TENSORFLOW.info("%s", finished)
            return Result(facts.step, 0, checkpoint=start.prefix if start else None)
        if job.trial and job.training and not facts.finished:
            job = trial.choose(job, crew)
        place = crew.place(job) if crew is not None else ALONE
        built = program.build(job, facts.input_steps, facts.order, place)
        target = _export_target(job, built)
        if finished is not None and start is not None:
            TENSORFLOW.info("%s", finished)
            target = _export(job, built, start.prefix, target)
            return Result(start.step or 0, 0, checkpoint=start.prefix, export_dir=target)
        with built.graph.as_default(), place.scope():
            recorder = stack.enter_context(recording(job))
            run = _Run(job, built, start, facts, held, place, crew, recorder)
            # Not around the export, which a signal may cut off: it is there whole or not at all.
            with stop_on_signals() as stop:
                progress = run.train_or_evaluate(stop)
        if stop:
            _say_stopped(job, run, progress, stop)
            raise SystemExit(stop.exit_code)
        target = _export(job, built, run.committed, target)
        result = _finish(job, run, progress, target)
        recorder.finish(result, progress)
        return result


@dataclass(frozen=True)
class _Facts:
    """What all processes of a run start from.

    Attributes:
        finished: whether an earlier run did all there is to do.
        step: the global step of the checkpoint it starts from.
        input_steps: steps whose data the run that is resumed took from its input.
        order: what the order of data is drawn from: the same as in the run that is resumed.
        saves: whether it is saved.
    """

    finished: bool
    step: int
    input_steps: int
    order: int
    saves: bool


def _agree(job: Job, start: Checkpoint | None, finished: bool, crew: Team | None) -> _Facts:
    """The chief's facts, in every process."""
    step = start.step or 0 if start is not None else 0
    saves = job.training and job.log_dir is not None
    facts = _Facts(finished, step, _input_steps(job, start), _input_order(start), saves)
    if crew is None:
        return facts
    return _Facts(**crew.agree(dataclasses.asdict(facts), job))


def _input_steps(job: Job, start: Checkpoint | None) -> int:
    """Steps whose data the run that is resumed took from its input."""
    if not job.training or start is None or not start.resume:
        return 0
    return int(checkpoint.read_extra(start).get(_INPUT_STEPS, 0))


def _input_order(start: Checkpoint | None) -> int:
    """What the order of data is drawn from: the same as in the run that is resumed."""
    known = checkpoint.read_extra(start).get(_INPUT_ORDER) if start and start.resume else None
    return secrets.randbits(62) if known is None else int(known)


def _export_target(job: Job, built: Program) -> str | None:
    """The directory to export to, refused before any step if it is not free."""
    if built.export_signature is None or job.log_dir is None:
        return None
    return export.target(job.log_dir, built.export_signature.version)


def _export(job: Job, built: Program, prefix: str, target: str | None) -> str | None:
    signature = built.export_signature
    if target is None or built.export_graph is None or signature is None:
        return None
    if signature.version == -1:
        # Another run may have taken the number meanwhile.
        target = _export_target(job, built) or target
    assets = export.labels_beside(job.log_dir, prefix)
    return export.write(built.export_graph, signature, prefix, target, job.export_kinds, assets)


class _Run:
    """The parts of one run that live while its graph is in use."""

    def __init__(
        self,
        job: Job,
        built: Program,
        start: Checkpoint | None,
        facts: _Facts,
        held: checkpoint.Held | None,
        place: Place,
        crew: Team | None,
        recorder: Recorder,
    ) -> None:
        self._job, self._program, self._start = job, built, start
        self._recorder, self._profile = recorder, Profile(job.log_dir, job.profile)
        input_steps = facts.input_steps
        self._input_steps = input_steps if built.inputs.positioned else 0
        self._first = 0
        self.by_chief = facts.saves and job.log_dir is None
        self._order, self._held = facts.order, held
        self._crew = crew
        if input_steps and not built.inputs.positioned:
            TENSORFLOW.info("%s", report.input_starts_over(input_steps))
        self.hooks = HookChain((*built.hooks, *self._profile.hooks))
        self._listeners = Listeners(job.listeners)
        before = {variable.name for variable in tf.global_variables()}
        self.hooks.begin()
        self._listeners.begin()
        variables = replicas.originals(tf.global_variables())
        self._restorer = self._make_restorer(variables, before)
        restored = set(self._restorer.restored) if self._restorer else set()
        own = [v for v in variables if v not in restored] if place.initializes else []
        self._initialize = session.initializer(own)
        self._given = place.give_values(variables)
        self._copies = replicas.copies_from_originals()
        self._saver = None
        if job.training and job.log_dir is not None:
            self._saver = Saver(job.log_dir, variables, job.keep)
            self._finite = FiniteVariables(variables, tf.trainable_variables())
        self.committed = start.prefix if start is not None else ""

    def _make_restorer(self, variables: list[tf.Variable], model: set[str]) -> Restorer | None:
        """Restores the variables of the `model`, and those of hooks where the file has them."""
        if self._start is None:
            return None
        job = self._job
        own = [variable for variable in variables if variable.name in model]
        hooked = [variable for variable in variables if variable.name not in model]
        if hooked:
            saved = reader.stored(self._start.prefix).shapes
            own += [
                variable
                for variable in hooked
                if variable.op.name in saved
                and (self._start.resume or not belongs_to_run(variable))
            ]
        return Restorer(
            self._start,
            own,
            resume=self._start.resume,
            include=job.restore_include,
            exclude=job.restore_exclude,
            optional=(*self._program.slots, self._program.global_step),
        )

    def train_or_evaluate(self, stop: StopRequest) -> Progress:
        job, built = self._job, self._program
        automatic = dict(built.model.log) if job.automatic_summaries else None
        with ExitStack() as stack:
            summaries = open_summaries(
                job.log_dir if job.training else None,
                built.graph,
                job.summary_every,
                automatic,
                replicas.originals(tf.trainable_variables()) if job.histograms else (),
            )
            stack.callback(summaries.close)
            stack.callback(self._profile.close)
            self._recorder.announce(summaries)
            built.graph.finalize()
            input_threads, hook_threads = tf.train.Coordinator(), tf.train.Coordinator()
            opened = stack.enter_context(
                session.open_session(
                    job,
                    built.graph,
                    self._initialize,
                    self._restorer,
                    self._complete,
                    built.initializers,
                    input_threads,
                    self._crew,
                )
            )
            stack.enter_context(session.threads_of_hooks(hook_threads))
            self.hooks.after_create_session(opened, hook_threads)
            first = self._first = int(opened.run(built.global_step))
            self._check_first(first)
            summaries.start(first)
            self._recorder.start(first)
            if job.training:
                TENSORFLOW.info("%s", report.running_will_end(job.max_steps))
            resumed = self._start is not None and self._start.resume
            if self._saver is not None and not (resumed and first == self._start_step()):
                self._save(opened, first)
            console = stack.enter_context(open_console(job.mode.lower(), _last_step(job, first)))
            save = (lambda step: self._save(opened, step)) if self._saver else None
            loop = Loop(
                job,
                built,
                opened,
                self.hooks,
                console,
                summaries,
                save,
                lambda: stop.signal is not None or hook_threads.should_stop(),
                first,
                self._crew,
                self._recorder,
            )
            if self._crew is None:
                progress = loop.run()
            else:
                self._crew.request = stop
                with self._crew.breaking(opened):
                    progress = loop.run()
                opened = self._crew.alive(opened, job, stack)
                self._end_together(opened, progress, stop)
            hook_threads.raise_requested_exception()
            if progress.input_ended:
                # A queue also ends where the thread that fills it failed.
                with blame.noted(built.graph, "in a thread that fills a queue of input_fn"):
                    input_threads.raise_requested_exception()
            if not self._input_steps:
                check_data(progress)
            if self._saver is not None:
                self._save(opened, progress.global_step, progress.input_ended)
                self._listeners.end(opened, progress.global_step)
            if job.pauses is not None:
                if not progress.input_ended:
                    opened.run(self._given)  # What is not trained, workers have each their own.
                job.pauses.end(opened, progress.global_step)
            if not stop:
                self.hooks.end(opened)
        if self._crew is not None:
            # No process takes its server down while another still talks to it.
            self._crew.barrier("closed", None)
        return progress

    def _complete(self, opened: tf.Session) -> None:
        """Gives every copy of a variable, here and in other processes, its value."""
        opened.run(self._given)
        opened.run(self._copies)
        if self._crew is not None:
            self._crew.barrier("variables", self._job.start_timeout)

    def _end_together(self, opened: tf.Session, progress: Progress, stop: StopRequest) -> None:
        """Waits for workers that train on, and says what this one's data was not used for."""
        crew = self._crew
        assert crew is not None
        if progress.ended_by is not None:
            dropped = team.drain(opened, program.sources(self._program.inputs))
            TENSORFLOW.warning("%s", report.dropped(progress.ended_by, progress.step, dropped))
        if not self._job.synchronous:
            crew.barrier("end", None)
            progress.shared_step = int(opened.run(self._program.global_step))
        elif not progress.input_ended:
            exchange.settle(opened)
        crew.hear_of_stop(stop)

    def _start_step(self) -> int | None:
        return self._start.step if self._start is not None else None

    def _check_first(self, first: int) -> None:
        """Raises where a run on other weights would end before its first step."""
        start, job = self._start, self._job
        if job.training and first >= job.max_steps and start is not None and not start.resume:
            raise MoxValueError(
                f"The checkpoint {start.prefix} is at global step {first} already, and"
                f" max_number_of_steps is {job.max_steps}: there is nothing to train. Raise"
                " max_number_of_steps, or count from 0 with"
                " --checkpoint_exclude_patterns=global_step."
            )

    def _save(self, opened: tf.Session, step: int, input_ended: bool = False) -> None:
        self._listeners.around(lambda: self._commit(opened, step, input_ended), opened, step)

    def _commit(self, opened: tf.Session, step: int, input_ended: bool) -> None:
        assert self._saver is not None
        if self._held is not None:
            self._held.check()
        self._finite.check(opened, step, self.committed)
        extra: dict[str, Any] = {_INPUT_STEPS: self._input_steps + step - self._first}
        if self._program.inputs.positioned:
            extra[_INPUT_ORDER] = self._order
        if input_ended:
            extra[_INPUT_ENDED] = self._job.max_steps
        self.committed = self._saver.save(opened, step, extra).prefix


def _say_stopped(job: Job, run: _Run, progress: Progress, stop: StopRequest) -> None:
    if job.training and stop.signal is not None:
        name = signal.Signals(stop.signal).name
        saved = (run.committed or None) if job.log_dir is not None else None
        TENSORFLOW.info("%s", report.stopped(name, progress.global_step, saved, run.by_chief))


def _training_summary(job: Job, run: _Run, progress: Progress, target: str | None) -> str:
    return report.training_summary(
        first_step=progress.first,
        last_step=progress.global_step,
        seconds=progress.seconds,
        samples_per_second=progress.samples_per_second,
        data_wait=progress.wait,
        checkpoint=run.committed or None,
        summaries=job.log_dir,
        export_dir=target,
        by_chief=run.by_chief,
    )


def _evaluation_summary(progress: Progress) -> str:
    return report.evaluation_summary(
        global_step=progress.first,
        batches=progress.means.batches,
        samples=progress.means.samples,
        seconds=progress.seconds,
        means=progress.evaluated,
    )


def _prediction_summary(progress: Progress) -> str:
    return report.prediction_summary(
        global_step=progress.first,
        batches=progress.step,
        samples=progress.samples,
        seconds=progress.seconds,
    )


def _last_step(job: Job, first: int) -> int | None:
    last = job.max_steps - first if job.training else job.max_steps
    return last if last < (1 << 40) else None


def _already_finished(job: Job, start: Checkpoint | None) -> str | None:
    """The line to print instead of training, where an earlier run did all there is to do."""
    if not job.training or start is None or job.log_dir is None or start.step is None:
        return None
    if not start.resume:
        return None
    if start.step >= job.max_steps:
        return report.already_reached(job.log_dir, start.step, job.max_steps)
    if not job.again and checkpoint.read_extra(start).get(_INPUT_ENDED) == job.max_steps:
        return report.input_already_ended(job.log_dir, start.step)
    return None


def _finish(job: Job, run: _Run, progress: Progress, target: str | None) -> Result:
    metrics = progress.evaluated if job.mode == EVAL else dict(progress.values)
    if job.training:
        TENSORFLOW.info("%s", _training_summary(job, run, progress, target))
    elif job.mode == EVAL:
        TENSORFLOW.info("%s", _evaluation_summary(progress))
        warn_of_metrics(metrics)
    else:
        TENSORFLOW.info("%s", _prediction_summary(progress))
    return Result(
        progress.global_step if job.training else progress.first,
        progress.step,
        progress.seconds,
        metrics,
        run.committed or None,
        target,
    )
