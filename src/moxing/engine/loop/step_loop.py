"""The step loop: one session call a step, and whatever is due at that step."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import blame
from moxing.engine.job.job import EVAL, PREDICT, Job
from moxing.engine.loop.finite import check_losses
from moxing.engine.loop.hooks import HookChain
from moxing.engine.loop.means import Means
from moxing.engine.model import streaming_metrics
from moxing.engine.model.program import Program
from moxing.engine.parallel.self_exchange import Rests
from moxing.engine.process.team import Team
from moxing.engine.reporting.console import Console
from moxing.engine.reporting.records.recorder import Recorder
from moxing.engine.reporting.summaries import SummaryWriter
from moxing.engine.wording import report, user_calls
from moxing.engine.wording.option_names import option
from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW


@dataclass
class Progress:
    """How far a run has come.

    Attributes:
        first: the global step it started at.
        step: steps done in this run.
        samples: samples seen, as far as known.
        seconds: time in the loop.
        wait: share of sampled steps' time spent waiting for data; None: not measured.
        input_ended: whether the input had no more data.
        values: the values last logged.
        means: sample-weighted means of the logged values, in EVAL; in PREDICT of none.
        running: last values of streaming metrics, in EVAL.
        ended_by: the other process whose data ended; None: this one's, or none did.
        shared_step: the global step, where other processes move it too; None: only these steps do.
    """

    first: int
    step: int = 0
    samples: int = 0
    seconds: float = 0.0
    wait: float | None = None
    input_ended: bool = False
    values: Mapping[str, float] = field(default_factory=dict)
    means: Means = field(default_factory=Means)
    running: dict[str, float] = field(default_factory=dict)
    ended_by: str | None = None
    shared_step: int | None = None

    @property
    def global_step(self) -> int:
        """The global step of a training run; other modes do not move it."""
        return self.first + self.step if self.shared_step is None else self.shared_step

    @property
    def evaluated(self) -> dict[str, float]:
        """Every logged value over all samples, in EVAL."""
        return {name: float(v) for name, v in {**self.means.result(), **self.running}.items()}

    @property
    def samples_per_second(self) -> float | None:
        """Mean over all steps; None where samples are not counted."""
        return self.samples / max(self.seconds, 1e-9) if self.samples else None


class Loop:
    """Runs the steps of one job in an open session."""

    def __init__(
        self,
        job: Job,
        program: Program,
        session: tf.Session,
        hooks: HookChain,
        console: Console,
        summaries: SummaryWriter,
        save: Callable[[int], None] | None,
        stopped: Callable[[], bool],
        first: int,
        crew: Team | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self._job = job
        self._crew = crew
        self._together = crew is not None and program.team is not None
        self._wish = program.team.wish if program.team is not None else None
        self._asked = self._left = False
        # Workers that do not wait for each other share the steps.
        shares = crew is not None and not job.group.synchronous
        self._workers = crew.cluster.size if crew is not None and shares else 1
        self._session = session
        self._hooks = hooks
        self._console = console
        self._summaries = summaries
        self._save = save
        self._stopped = stopped
        self._outputs: list[dict[str, Any]] = []
        self._fetches = _fetches(job, program, summaries)
        self._callables: dict[tuple[str, ...], Callable[[], Any]] = {}
        self._samples = program.inputs.samples
        self._counts = program.inputs.counts
        self._output_steps = 0
        self._streaming = _streaming(job, program)
        self._always = _always(job)
        self._reports_rate = job.training and job.log_dir is not None
        self.progress = Progress(first)
        self._recorder = recorder if job.training else None
        if recorder is not None:
            recorder.progress = self.progress

    def run(self) -> Progress:
        """Runs until the step limit, the end of the input, a hook or a signal stops it."""
        progress, started = self.progress, time.perf_counter()
        self._mark = (started, 0)
        self._rate_mark = (started, 0)
        self._saved_at = time.monotonic()
        self._rests, self._put_off = Rests(self._session), False
        try:
            self._run_steps()
            self._flush_outputs()
        except Exception as error:
            where = self._where()
            if not any(where in note for note in getattr(error, "__notes__", ())):
                error.add_note(f"openmox: raised {where}.")
            raise
        progress.seconds = time.perf_counter() - started
        if self._job.mode == PREDICT:
            progress.samples = int(progress.means.samples or 0)
        elif progress.samples:
            # The steps after the last log line had, as far as is known, batches of the same size.
            progress.samples += (progress.step - self._mark[1]) * self._batch
        return progress

    def _run_steps(self) -> None:
        progress, end = self.progress, self._last_step()
        pauses = self._job.pauses
        self._pause_at = end
        if pauses is not None:
            pauses.begin(self._session, progress.first)
            self._pause_at = pauses.next(progress.first)
        while progress.step < end and not self._leaves():
            due = self._due(progress.step)
            try:
                values = self._step(due)
            except tf.errors.OutOfRangeError as error:
                if hasattr(error, "__notes__"):  # A hook raised it, of data of its own.
                    raise
                self._end_of_input(error)
                break
            except tf.errors.OpError as error:
                if self._ended_by_peer(error):
                    break
                error.add_note(blame.about(error, self._session.graph, self._where()))
                raise
            if due:
                self._take(values)
            progress.step += 1
            if self._together:
                self._hear(values)
            if self._reports_rate and progress.step % self._job.summaries.every == 0:
                self._report_rate()
            if self._console.live:
                self._console.tick(progress.step)
            if self._save is not None and self._save_due():
                self._save(progress.global_step)
                self._saved_at = time.monotonic()
            if pauses is not None and progress.global_step >= self._pause_at:
                self._hooks.stop_requested |= pauses.reached(self._session, progress.global_step)
                self._pause_at = pauses.next(progress.global_step)
        if self._streaming and progress.step:
            final = streaming_metrics.readable(self._streaming)
            progress.running.update(self._session.run(final))

    def _leaves(self) -> bool:
        """Whether the loop ends before another step.

        Processes that update together end together: who wants to leave says so in the next step,
        and all of them read it there.
        """
        wants = self._stopped() or self._hooks.stop_requested
        if not self._together or self._crew is None:
            return wants
        wants = wants or self._crew.stop_was_asked()
        if wants and not self._asked:
            self._asked = True
            self._crew.ask_to_stop()
            self._session.run(self._wish)
        return wants if not self._job.group.synchronous else self._left

    def _hear(self, values: Mapping[str, Any]) -> None:
        """Takes what a step says of other processes."""
        assert self._crew is not None
        told = values["team"]
        self._left = told.get("agreed", 0.0) > 0
        if "global_step" in told:
            self.progress.shared_step = max(self.progress.global_step, int(told["global_step"]))
        self._crew.member.report_step(self.progress.global_step)
        self._crew.check(self.progress.global_step)

    def _end_of_input(self, error: tf.errors.OutOfRangeError) -> None:
        self.progress.input_ended = True
        if self._together and self._crew is not None:
            self.progress.ended_by = self._crew.peer_ended(error, self.progress.step)
            if self.progress.ended_by is None and self._job.group.synchronous:
                self._crew.input_ended(self.progress.step)

    def _ended_by_peer(self, error: tf.errors.OpError) -> bool:
        """Whether another process broke this step off because its data ended."""
        if self._crew is None:
            return False
        self.progress.ended_by = self._crew.peer_ended(error, self.progress.step)
        self.progress.input_ended = self.progress.ended_by is not None
        return self.progress.input_ended

    def _where(self) -> str:
        progress = self.progress
        global_step = progress.global_step if self._job.training else progress.first
        return f"in step {progress.step} (global step {global_step}) of {self._job.mode}"

    def _last_step(self) -> int:
        if self._job.training:
            left = self._job.max_steps - self.progress.first
            return -(-left // self._workers)
        return self._job.max_steps

    def _due(self, step: int) -> tuple[str, ...]:
        """The names of what this step fetches beside the train op."""
        due = ("team", *self._always) if self._together else self._always
        if self._job.logging.every and step % self._job.logging.every == 0:
            due = (*due, "log")
        if self._summaries.due(self.progress.first + step):
            due = (*due, "summary")
        return due

    def _step(self, due: tuple[str, ...]) -> dict[str, Any]:
        if self._hooks:
            return self._hooks.run(self._session, self._fetches_of(due))
        if due or self._console.live:
            return self._callable(due)()
        self._plain_steps()
        return {}

    def _plain_steps(self) -> None:
        """Runs steps up to the last before something is due; all of them but one are counted.

        A small step takes less time than looking at each for what may be due.
        """
        progress, function = self.progress, self._callable(())
        last = self._next_due(progress.step) - 1
        while True:
            function()
            if progress.step >= last or self._stopped() or self._save_time_has_come():
                return
            progress.step += 1

    def _next_due(self, step: int) -> int:
        """The first step after this one that needs more than the step itself."""
        job, first = self._job, self.progress.first
        due = [self._last_step()]
        if job.logging.every:
            due.append(_next_multiple(step, job.logging.every))
        if self._summaries.op is not None:
            due.append(_next_multiple(first + step, job.summaries.every) - first)
        if self._reports_rate:
            due.append(_next_multiple(step, job.summaries.every))
        saving = job.saving
        if self._save is not None and saving.every_secs is None and saving.every_steps is not None:
            due.append(_next_multiple(first + step, saving.every_steps) - first)
        if job.pauses is not None:
            due.append(self._pause_at - first)
        return min(due)

    def _callable(self, due: tuple[str, ...]) -> Callable[[], Any]:
        function = self._callables.get(due)
        if function is None:
            function = self._session.make_callable(self._fetches_of(due))
            self._callables[due] = function
        return function

    def _fetches_of(self, due: tuple[str, ...]) -> Any:
        """A step in which nothing is due fetches one operation: TensorFlow's shortest way."""
        fetches = {name: self._fetches[name] for name in due}
        return {**fetches, "step": self._fetches["step"]} if due else self._fetches["step"]

    def _take(self, values: dict[str, Any]) -> None:
        progress = self.progress
        if "means" in values:
            for batch, count in zip(values["means"], self._counts, strict=True):
                if batch.get("real", True):
                    progress.means.add(batch["values"], batch.get("samples", count))
            first = values["means"][0]["values"]
            progress.running.update({name: first[name] for name in self._streaming})
        if "seen" in values:
            for one, count in zip(values["seen"], self._counts, strict=True):
                if one.get("real", True):
                    progress.means.add({}, one.get("samples", count))
        if "outputs" in values:
            real = [one["values"] for one in values["outputs"] if one.get("real", True)]
            self._outputs += real
            self._output_steps += 1
            if self._output_steps >= self._job.outputs.every:
                self._flush_outputs()
        if "log" in values:
            self._log(values["log"])
        if "summary" in values:
            self._summaries.write(self.progress.global_step, values["summary"])

    def _log(self, logged: Mapping[str, Any]) -> None:
        progress = self.progress
        now = time.perf_counter()
        before, step_before = self._mark
        self._mark = (now, progress.step + 1)
        steps, seconds = progress.step + 1 - step_before, now - before
        batch = self._job.data.batch_size or logged.get("samples", self._samples)
        if batch is not None:
            batch = batch * len(self._counts)
        rate = None if batch is None else float(steps * batch / max(seconds, 1e-9))
        self._batch = int(batch or 0)
        progress.samples += steps * self._batch
        if "wait" in logged:
            share = min(1.0, logged["wait"] * steps / max(seconds, 1e-9))
            progress.wait = _smooth(progress.wait, share)
        progress.values = {name: float(value) for name, value in logged["values"].items()}
        check_losses(progress.global_step, logged["losses"])
        if self._job.training:
            line = report.step_line(progress.step, progress.global_step, rate, progress.values)
            if self._recorder is not None:
                self._recorder.logged(progress, steps / max(seconds, 1e-9), rate)
        else:
            seen = progress.samples if progress.means.samples is None else progress.means.samples
            steps_done = progress.step + 1  # An element without a first dimension is one example.
            line = report.eval_line(seen or progress.samples or steps_done, progress.values)
        TENSORFLOW.info("%s", line)
        if self._console.live:
            self._console.update(progress.step + 1, rate, progress.wait, progress.values)

    def _report_rate(self) -> None:
        """TensorFlow's own measure of speed, in the log and in TensorBoard."""
        progress, now = self.progress, time.perf_counter()
        before, step_before = self._rate_mark
        self._rate_mark = (now, progress.step)
        rate = (progress.step - step_before) / max(now - before, 1e-9)
        self._summaries.scalar(progress.global_step, "global_step/sec", rate)
        TENSORFLOW.info("%s", report.global_step_per_second(rate))

    def _save_due(self) -> bool:
        """Whether to save now: not while processes keep what a checkpoint would lose."""
        steps = self._job.saving.every_steps
        if self._job.saving.every_secs is not None:
            wanted = self._save_time_has_come()
        else:
            wanted = steps is not None and self.progress.global_step % steps == 0
        self._put_off = wanted or self._put_off
        if self._rests.settles and (self._left or self.progress.step >= self._last_step()):
            return False  # The run saves, when all have agreed.
        if self._put_off and self._rests.after(self.progress.step):
            self._put_off = False
            return True
        return False

    def _save_time_has_come(self) -> bool:
        seconds = self._job.saving.every_secs
        return (
            seconds is not None
            and self._save is not None
            and time.monotonic() - self._saved_at >= seconds
        )

    def _flush_outputs(self) -> None:
        if self._outputs and self._job.outputs.function is not None:
            outputs, self._outputs, self._output_steps = self._outputs, [], 0
            about = f"after step {self.progress.step} of {self._job.mode}"
            user_calls.call("output_fn", self._job.outputs.function, outputs, about=about)


def _fetches(job: Job, program: Program, summaries: SummaryWriter) -> dict[str, Any]:
    """Everything a step may fetch, by name; "step" always."""
    inputs, model = program.inputs, program.model
    each = [_of_device(program, index) for index in range(len(program.replicas))]
    samples = {"samples": each[0]["samples"]} if "samples" in each[0] else {}
    wait = {} if inputs.wait is None else {"wait": inputs.wait}
    losses = {loss.tensor.name: loss.tensor for loss in model.losses} if job.training else {}
    parts = zip(program.replicas, each, strict=True)
    outputs, means = [], []
    for part, common in parts:
        means.append({**common, "values": dict(part.model.log)})
        outputs.append({**common, "values": dict(part.model.outputs)})
    fetches: dict[str, Any] = {
        "step": program.step_op,
        "log": {"values": dict(program.log), "losses": losses, **samples, **wait},
        "means": means,
        "seen": each,
        "outputs": outputs,
    }
    if program.team is not None:
        told = {} if program.team.agreed is None else {"agreed": program.team.agreed}
        if not job.group.synchronous:
            told["global_step"] = program.global_step
        fetches["team"] = told
    if summaries.op is not None:
        fetches["summary"] = summaries.op
    return fetches


def _of_device(program: Program, index: int) -> dict[str, Any]:
    """What is fetched of a device's input beside its values: its size, whether it is real."""
    inputs = program.inputs
    count = inputs.counts[index]
    sized = {"samples": count} if isinstance(count, tf.Tensor) else {}
    return {**sized, "real": inputs.real[index]} if inputs.real else sized


def _streaming(job: Job, program: Program) -> dict[str, tf.Tensor]:
    """The logged values that are over all batches by themselves, in EVAL."""
    log = program.model.log if job.mode == EVAL else {}
    return {name: log[name] for name in streaming_metrics.names(log)}


def _always(job: Job) -> tuple[str, ...]:
    names = []
    if job.mode == EVAL:
        names.append("means")
    elif job.mode == PREDICT:
        names.append("seen")
    if job.outputs.function is not None:
        names.append("outputs")
    return tuple(names)


def _next_multiple(number: int, factor: int) -> int:
    return (number // factor + 1) * factor


def _smooth(before: float | None, now: float) -> float:
    return now if before is None else 0.7 * before + 0.3 * now


def check_data(progress: Progress) -> None:
    """Raises if the input ended before it gave a single batch."""
    if progress.input_ended and progress.step == 0:
        raise MoxValueError(
            f"{option('input_fn')} gave no data: it ended before the first step. Check the path,"
            " pattern or number of epochs it reads, and that a batch is not larger than the data."
        )
