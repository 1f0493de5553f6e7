"""Runs a built program: opens its session, drives the loop, saves, and ends its threads."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint import reader
from moxing.engine.checkpoint.best import BestCheckpoint
from moxing.engine.checkpoint.manifest import read_extra, read_input
from moxing.engine.checkpoint.restoring.object_restorer import ObjectRestorer
from moxing.engine.checkpoint.restoring.restorer import Foreign, Restorer
from moxing.engine.data.position import Place as PlaceInData
from moxing.engine.data.position import Position
from moxing.engine.graph import blame, copy_names, run_context, saveables
from moxing.engine.job.job import Job
from moxing.engine.loop import session, stall
from moxing.engine.loop.hooks import HookChain
from moxing.engine.loop.listeners import Listeners
from moxing.engine.loop.profile import Profile
from moxing.engine.loop.progress import Progress, check_data
from moxing.engine.loop.run_state import belongs_to_run
from moxing.engine.loop.saves import Writer
from moxing.engine.loop.session import Initialization
from moxing.engine.loop.step_log import Reporters
from moxing.engine.loop.step_loop import Loop, Running
from moxing.engine.model import averages, program
from moxing.engine.model.program import Program
from moxing.engine.parallel import replicas, self_exchange
from moxing.engine.parallel.place import Place
from moxing.engine.process import team as teams
from moxing.engine.process.solo import Solo
from moxing.engine.reporting.console import open_console
from moxing.engine.reporting.records.recorder import Recorder
from moxing.engine.reporting.summaries import SummaryWriter, open_summaries
from moxing.engine.run import start_state
from moxing.engine.run.beside import Beside
from moxing.engine.run.commits import Commits, Start
from moxing.engine.wording import option_names, report
from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW
from moxing.signals import StopRequest


@dataclass(frozen=True)
class _Threads:
    """Coordinators of the threads of a session: those that read input, and those of hooks."""

    inputs: tf.train.Coordinator
    hooks: tf.train.Coordinator


class Runner:
    """Runs one built program; made and used while its graph is the default.

    Args:
        job: the job of the program.
        built: the program; its graph is made final here.
        start: the state from which the run starts.
        place: where the graph's variables are.
        team: the processes that train together.
        recorder: keeps the records of the run.

    Attributes:
        commits: the checkpoints of the run.
        by_chief: whether another process saves the run.
    """

    def __init__(
        self,
        job: Job,
        built: Program,
        start: Start,
        place: Place,
        team: Solo,
        recorder: Recorder,
    ) -> None:
        self._job, self._program, self._start, self._team = job, built, start, team
        self._recorder, self._profile = recorder, Profile(job.log_dir, job.logging.profile)
        self.by_chief = start.state.saves and job.log_dir is None
        if self.by_chief and (own_state := saveables.names(saveables.of_graph())):
            TENSORFLOW.warning(
                "Checkpoints hold worker 0's state of %s; this worker's is not saved.",
                ", ".join(sorted(own_state)),
            )
        self._hooks = HookChain((*built.hooks, *self._profile.hooks))
        listeners = Listeners(job.saving.listeners)
        before = {variable.name for variable in tf.global_variables()}
        self._hooks.begin()
        listeners.begin()
        variables = replicas.originals(tf.global_variables())
        restorer = _restorer(job, built, start, before)
        restored = set(restorer.restored) if restorer else set()
        own = [v for v in variables if v not in restored] if place.initializes else []
        initialize = session.initializer(own)
        objects = _object_restorer(job, start)
        self._begin_averages = averages.begin(restored) if place.initializes else tf.no_op()
        if job.restoring.averaged and job.training:
            averages.make_showable()
        self._own_iterators = objects is not None and objects.iterators
        self._give = place.give_values(variables)
        self._copy = replicas.copies_from_originals()
        self._initialization = Initialization(
            initialize, restorer, self._complete, built.initializers, objects
        )
        targets = [built.step_op, *program.sources(built.inputs)]
        self._position = Position(targets if job.training else (), start.positioned)
        self.commits = Commits(job, variables, start, listeners, team.escape, self._position)
        self._best = _best(job, self.commits)

    def run(self, stop: StopRequest) -> Progress:
        """Trains, evaluates or predicts, until the job is done or `stop` is set."""
        job, built, team = self._job, self._program, self._team
        threads = _Threads(tf.train.Coordinator(), tf.train.Coordinator())
        beside = Beside(job, self.commits, team, self._recorder, stop)
        with ExitStack() as stack:
            stack.enter_context(team.escape.last(self.commits.finish_writing))
            stack.callback(self.commits.finish_writing)
            stack.enter_context(beside.ready())
            summaries = self._open_summaries(stack)
            stack.callback(self._profile.close)
            self._recorder.announce(summaries)
            built.graph.finalize()
            opened = stack.enter_context(
                session.open_session(job, built.graph, self._initialization, threads.inputs, team)
            )
            stack.enter_context(session.threads_of_hooks(threads.hooks))
            self._hooks.after_create_session(opened, threads.hooks)
            first = self._begin(opened, summaries, stop)
            console = stack.enter_context(open_console(job.mode.lower(), _last_step(job, first)))
            loop = Loop(
                job,
                Running(
                    built,
                    opened,
                    self._hooks,
                    team,
                    lambda: stop.signal is not None or threads.hooks.should_stop(),
                ),
                Reporters(console, summaries, self._recorder),
                self._writer(opened),
                first,
            )
            with (
                team.steps(opened, stop),
                stall.told(job, loop.progress),
                beside.steps(opened, loop, built),
            ):
                progress = loop.run()
            opened = team.alive(opened, job.group, stack)
            self._end_together(opened, progress, stop)
            self._raise_of_threads(threads, progress)
            self._finish(opened, progress)
            if not stop:
                self._hooks.end(opened)
        # No process may end its server while another process still uses it.
        team.barrier("closed", None)
        return progress

    def _writer(self, opened: tf.Session) -> Writer | None:
        if not self.commits.active:
            return None
        return Writer(lambda step: self.commits.save_between(opened, step), self.commits.check)

    def _open_summaries(self, stack: ExitStack) -> SummaryWriter:
        job, built = self._job, self._program
        summaries = open_summaries(
            job.log_dir if job.training else None,
            built.graph,
            job.summaries.every,
            dict(built.model.log) if job.summaries.automatic else None,
            replicas.originals(tf.trainable_variables()) if job.summaries.histograms else (),
        )
        stack.callback(summaries.close)
        return summaries

    def _begin(self, opened: tf.Session, summaries: SummaryWriter, stop: StopRequest) -> int:
        """Reads the global step of the session, says where the run ends, and saves the start."""
        job = self._job
        first = self.commits.first = int(opened.run(self._program.global_step))
        if self._team.apart:
            # If a worker trained before another worker has read the step, that worker would lose
            # steps.
            self._team.barrier("first", None)
        self._check_first(first)
        self.commits.goes_on = self._go_on(opened, stop)
        summaries.start(first)
        self._recorder.start(first)
        if job.training:
            TENSORFLOW.info("%s", report.running_will_end(job.max_steps))
        if self.commits.active and first != self._start.resumed_step:
            self.commits.save(opened, first)
        return first

    def _go_on(self, opened: tf.Session, stop: StopRequest) -> bool:
        """Moves the input to the position where earlier runs stopped; returns whether it could."""
        state, start = self._start.state, self._start.checkpoint
        if not state.input_steps or self._own_iterators:
            return True
        group = self._job.group
        saved: dict[str, Any] = {}
        shares = start_state.shares(self._job)
        if shares and state.shares not in (0, shares):
            saved["shared_anew"] = True
        elif state.workers not in (0, group.size):
            saved["workers"] = (state.workers, group.size)
        elif start is not None:
            saved["state"] = None if state.ended else read_input(start)
            known = read_extra(start).get(start_state.INPUT_PIPELINES)
            saved["pipelines"] = None if known is None else tuple(known)
        steps, again = divmod(state.taken, start_state.elements(self._job))
        if shares:
            steps, again = state.input_steps, 0
        saved["again"] = again
        place = PlaceInData(steps, steps * self._job.batches, ended=state.ended, **saved)
        return self._position.restore(opened, place, lambda: stop.signal is not None)

    def _complete(self, opened: tf.Session) -> None:
        """Gives every copy of a variable, in this and in other processes, its value."""
        opened.run(self._begin_averages)
        opened.run(self._give)
        opened.run(self._copy)
        self._team.barrier("variables", self._job.group.start_timeout)

    def _end_together(self, opened: tf.Session, progress: Progress, stop: StopRequest) -> None:
        """Waits for workers that still train, and logs how much data here was not used."""
        if progress.ended_by is not None:
            dropped = teams.drain(opened, program.sources(self._program.inputs))
            TENSORFLOW.warning("%s", report.dropped(progress.ended_by, progress.step, dropped))
        if self._team.apart:
            self._team.barrier("end", None)
            progress.shared_step = int(opened.run(self._program.global_step))
        elif not progress.input_ended:
            self_exchange.settle(opened)
        self._team.hear_of_stop(stop)

    def _raise_of_threads(self, threads: _Threads, progress: Progress) -> None:
        """Raises the error of a hook's thread, or the error that ended the input."""
        threads.hooks.raise_requested_exception()
        if progress.input_ended:
            # A queue also ends if the thread that fills it failed.
            with blame.noted(self._program.graph, "in a thread that fills a queue of input_fn"):
                threads.inputs.raise_requested_exception()
        if not (self._start.state.input_steps and self.commits.goes_on):
            check_data(progress)

    def _finish(self, opened: tf.Session, progress: Progress) -> None:
        """Commits the last step, and lets the dialect read the session."""
        if self.commits.active:
            self.commits.save(opened, progress.global_step, progress.input_ended)
            self.commits.end(opened, progress.global_step)
        self.commits.check_unsaved(opened, progress.global_step)
        if self._best is not None:
            self._best.folder.say()
        pauses = self._job.pauses
        if pauses is not None:
            if not progress.input_ended:
                # Each worker has its own values of variables that are not trained.
                opened.run(self._give)
            pauses.end(opened, progress.global_step)

    def _check_first(self, first: int) -> None:
        """Raises an error if a run on other weights would end before its first step."""
        start, job = self._start.checkpoint, self._job
        if job.training and first >= job.max_steps and start is not None and not start.resume:
            name = option_names.option("max_number_of_steps")
            patterns = option_names.option("--checkpoint_exclude_patterns")
            raise MoxValueError(
                f"The checkpoint {start.prefix} is at global step {first} already, and {name} is"
                f" {job.max_steps}: there is nothing to train. Raise {name}"
                + (f", or count from 0 with {patterns}=global_step." if patterns else ".")
            )


def _best(job: Job, commits: Commits) -> BestCheckpoint | None:
    """Makes the keeper of the best checkpoints, if the job asks for them."""
    ranking = job.saving.best
    if ranking is None or not job.training or not job.group.is_chief:
        return None
    if job.log_dir is None or not commits.active:
        TENSORFLOW.warning(
            "%s: no checkpoint is kept as the best, because there is no %s.",
            ranking.asked_by,
            option_names.option("log_dir"),
        )
        return None
    found = run_context.current().best = BestCheckpoint(job.log_dir, ranking)
    return found


def _restorer(job: Job, built: Program, start: Start, model: set[str]) -> Restorer | None:
    """Makes the restorer of the variables in `model`, and of hooks' variables that the file has."""
    found = start.checkpoint
    if found is None:
        return None
    variables = replicas.originals(tf.global_variables())
    saved = reader.stored(found.prefix).shapes
    # Averages may have been switched on after the checkpoint was saved.
    own = [
        variable
        for variable in variables
        if variable.name in model
        and (variable.op.name in saved or not copy_names.is_average(variable.op.name))
    ]
    hooked = [variable for variable in variables if variable.name not in model]
    if hooked:
        own += [
            variable
            for variable in hooked
            if variable.op.name in saved and (found.resume or not belongs_to_run(variable))
        ]
    restoring = job.restoring
    foreign = Foreign(restoring.include, restoring.exclude, (*built.slots, built.global_step))
    return Restorer(
        found,
        own,
        foreign=None if found.resume else foreign,
        averaged=restoring.averaged and not job.training,
    )


def _object_restorer(job: Job, start: Start) -> ObjectRestorer | None:
    """Makes the restorer of tables and, if a training is resumed, of positions of iterators."""
    found, restoring = start.checkpoint, job.restoring
    if found is None:
        return None
    goes_on = job.training and found.resume
    return ObjectRestorer(found, goes_on, restoring.include, restoring.exclude)


def _last_step(job: Job, first: int) -> int | None:
    last = job.max_steps - first if job.training else job.max_steps
    return last if last < (1 << 40) else None
