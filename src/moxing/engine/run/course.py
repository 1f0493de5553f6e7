"""The parts of one run that live while its graph is in use, and its course through them."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine import checkpoint
from moxing.engine.checkpoint import Checkpoint, Restorer, Saver, reader
from moxing.engine.graph import blame
from moxing.engine.job.job import Job
from moxing.engine.loop import session
from moxing.engine.loop.finite import FiniteVariables
from moxing.engine.loop.hooks import HookChain
from moxing.engine.loop.listeners import Listeners
from moxing.engine.loop.profile import Profile
from moxing.engine.loop.run_state import belongs_to_run
from moxing.engine.loop.step_loop import Loop, Progress, check_data
from moxing.engine.model import program
from moxing.engine.model.program import Program
from moxing.engine.parallel import replicas, self_exchange
from moxing.engine.parallel.place import Place
from moxing.engine.process import team
from moxing.engine.process.team import Team
from moxing.engine.reporting.console import open_console
from moxing.engine.reporting.records.recorder import Recorder
from moxing.engine.reporting.summaries import open_summaries
from moxing.engine.run import start_state
from moxing.engine.run.start_state import Facts
from moxing.engine.wording import option_names, report
from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW
from moxing.signals import StopRequest


class Course:
    """The parts of one run that live while its graph is in use."""

    def __init__(
        self,
        job: Job,
        built: Program,
        start: Checkpoint | None,
        found: Facts,
        held: checkpoint.Held | None,
        place: Place,
        crew: Team | None,
        recorder: Recorder,
    ) -> None:
        self._job, self._program, self._start = job, built, start
        self._recorder, self._profile = recorder, Profile(job.log_dir, job.logging.profile)
        input_steps = found.input_steps
        self._input_steps = input_steps if built.inputs.positioned else 0
        self._first = 0
        self.by_chief = found.saves and job.log_dir is None
        self._order, self._held = found.order, held
        self._crew = crew
        if input_steps and not built.inputs.positioned:
            TENSORFLOW.info("%s", report.input_starts_over(input_steps))
        self.hooks = HookChain((*built.hooks, *self._profile.hooks))
        self._listeners = Listeners(job.saving.listeners)
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
            self._saver = Saver(job.log_dir, variables, job.saving.keep)
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
            include=job.restoring.include,
            exclude=job.restoring.exclude,
            optional=(*self._program.slots, self._program.global_step),
        )

    def train_or_evaluate(self, stop: StopRequest) -> Progress:
        job, built = self._job, self._program
        automatic = dict(built.model.log) if job.summaries.automatic else None
        with ExitStack() as stack:
            summaries = open_summaries(
                job.log_dir if job.training else None,
                built.graph,
                job.summaries.every,
                automatic,
                replicas.originals(tf.trainable_variables()) if job.summaries.histograms else (),
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
            if self._crew is not None and not job.group.synchronous:
                # Who trains before another reads the step takes steps away from it.
                self._crew.barrier("first", None)
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
                opened = self._crew.alive(opened, job.group, stack)
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
            self._crew.barrier("variables", self._job.group.start_timeout)

    def _end_together(self, opened: tf.Session, progress: Progress, stop: StopRequest) -> None:
        """Waits for workers that train on, and says what this one's data was not used for."""
        crew = self._crew
        assert crew is not None
        if progress.ended_by is not None:
            dropped = team.drain(opened, program.sources(self._program.inputs))
            TENSORFLOW.warning("%s", report.dropped(progress.ended_by, progress.step, dropped))
        if not self._job.group.synchronous:
            crew.barrier("end", None)
            progress.shared_step = int(opened.run(self._program.global_step))
        elif not progress.input_ended:
            self_exchange.settle(opened)
        crew.hear_of_stop(stop)

    def _start_step(self) -> int | None:
        return self._start.step if self._start is not None else None

    def _check_first(self, first: int) -> None:
        """Raises where a run on other weights would end before its first step."""
        start, job = self._start, self._job
        if job.training and first >= job.max_steps and start is not None and not start.resume:
            name = option_names.option("max_number_of_steps")
            raise MoxValueError(
                f"The checkpoint {start.prefix} is at global step {first} already, and {name} is"
                f" {job.max_steps}: there is nothing to train. Raise {name}, or count from 0 with"
                " --checkpoint_exclude_patterns=global_step."
            )

    def _save(self, opened: tf.Session, step: int, input_ended: bool = False) -> None:
        self._listeners.around(lambda: self._commit(opened, step, input_ended), opened, step)

    def _commit(self, opened: tf.Session, step: int, input_ended: bool) -> None:
        assert self._saver is not None
        if self._held is not None:
            self._held.check()
        self._finite.check(opened, step, self.committed)
        extra: dict[str, Any] = {start_state.INPUT_STEPS: self._input_steps + step - self._first}
        if self._program.inputs.positioned:
            extra[start_state.INPUT_ORDER] = self._order
        if input_ended:
            extra[start_state.INPUT_ENDED] = self._job.max_steps
        with self._crew.escape.saving() if self._crew is not None else nullcontext():
            self.committed = self._saver.save(opened, step, extra).prefix


def _last_step(job: Job, first: int) -> int | None:
    last = job.max_steps - first if job.training else job.max_steps
    return last if last < (1 << 40) else None
