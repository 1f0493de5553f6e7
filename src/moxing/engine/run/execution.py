"""Executes a run, from a `Job` to its `Result`."""

from __future__ import annotations

import dataclasses
import os
from contextlib import ExitStack

from moxing import signals
from moxing.cluster.cluster import EVALUATOR
from moxing.engine import export
from moxing.engine.checkpoint.directory import ensure_directory, refuse_in_the_way
from moxing.engine.checkpoint.lock import Held, lock
from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.newest import newest_unread
from moxing.engine.checkpoint.restoring.source import choose
from moxing.engine.data.feed import Taken
from moxing.engine.graph.rewrites.resources import resource_variables
from moxing.engine.job.job import Export, Job, Result
from moxing.engine.job.placement import ProcessGroup
from moxing.engine.model import program
from moxing.engine.model.program import Program
from moxing.engine.process.solo import Solo
from moxing.engine.process.stopping import stop_on_signals
from moxing.engine.process.team import Team, enter
from moxing.engine.remote.log_dir import run_at_home
from moxing.engine.reporting.records.recorder import recording
from moxing.engine.run import outcome, start_state, trial
from moxing.engine.run.commits import Start
from moxing.engine.run.runner import Runner
from moxing.engine.wording import option_names, report
from moxing.errors import ExportExistsError
from moxing.framework import file
from moxing.logs import TENSORFLOW


def execute(job: Job) -> Result:
    """Runs a job; with a cluster, this process's part of it.

    Raises:
        MoxError: a part of the job can't be run; the message says what to do.
        PeerFailureError: another process of the cluster was lost.
        Stopped: a SystemExit with code 143 or 130, after SIGTERM or Ctrl-C and a last save.
        SystemExit: with 0 in a parameter server whose workers are done, and in an evaluator that
            is given a training job.
    """
    with option_names.spoken(job.logging.names):
        cluster = job.group.cluster
        if cluster is None or cluster.alone:
            return _execute(job)
        return _execute_apart(job) if cluster.job == EVALUATOR else _execute_among(job)


def _execute_apart(job: Job) -> Result:
    """Runs a job in an evaluator, which reads checkpoints and is not a member of the team."""
    if job.training:
        assert job.group.cluster is not None
        TENSORFLOW.info(
            "%s does not train, so it ends here. Give it a program that evaluates or predicts.",
            job.group.cluster.task,
        )
        raise SystemExit(0)
    alone = ProcessGroup(devices=job.devices)
    placement = dataclasses.replace(job.placement, group=alone, on_servers=False)
    return _execute(dataclasses.replace(job, placement=placement))


def _execute_among(job: Job) -> Result:
    team = enter(job.group)
    try:
        return _execute_in(team, job)
    except BaseException as error:
        cause = team.cause(error)
        if not isinstance(error, SystemExit) or error.code not in (0, None):
            team.leave(error)
        if cause is not None:
            raise cause from error
        raise


def _execute_in(team: Team, job: Job) -> Result:
    if not job.training:
        team.escape.at_ease()
        return _evaluate_as_chief(job, team)
    own = job if team.is_chief else _without_files(job)
    try:
        return _execute(_counted(own), team)
    finally:
        team.tell_kept()


def _counted(job: Job) -> Job:
    """Returns the job with its limit as a limit on the global step.

    Without synchronization a user's max_steps counts the steps of one worker, while the global step
    counts those of all; so the limit is multiplied by the number of workers.
    """
    if job.group.synchronous:
        return job
    return dataclasses.replace(job, max_steps=job.max_steps * job.group.size)


def _without_files(job: Job) -> Job:
    """Returns the job of a worker that is not the chief: only the chief writes files."""
    local = job.log_dir if job.log_dir and not file.is_remote(job.log_dir) else None
    return dataclasses.replace(
        job,
        log_dir=None,
        restoring=dataclasses.replace(job.restoring, checkpoint_path=None, not_used=local),
        logging=dataclasses.replace(job.logging, loggers=()),
        saving=dataclasses.replace(job.saving, listeners=()),
        export=Export(),
    )


def _evaluate_as_chief(job: Job, team: Team) -> Result:
    if team.is_chief:
        return _execute(job)
    TENSORFLOW.info("%s leaves %s to worker 0.", team.cluster.task, job.mode)
    return Result(0, 0)


def _execute(job: Job, team: Solo | None = None) -> Result:
    team = team or Solo()
    return run_at_home(job, lambda here: _execute_here(here, team), team.escape.last)


def _execute_here(job: Job, team: Solo) -> Result:
    with ExitStack() as stack:
        held, start = _claim(job, stack) if team.is_chief else (None, None)
        at_end = start_state.already_finished(job, start)
        unused = newest_unread(job.restoring.not_used) if job.restoring.not_used else None
        found = start_state.agree(job, start, at_end is not None, team)
        start_state.warn_of_later(unused, found)
        if found.finished and (start is None or not job.export.wanted):
            if at_end is not None:
                TENSORFLOW.info("%s", at_end)
            return Result(found.step, 0, checkpoint=start.prefix if start else None)
        if job.placement.trial and job.training and not found.finished:
            job = trial.choose(job, team)
        place = team.place(job.placement)
        built = program.build(job, Taken(found.taken, found.input_steps), found.order, place)
        job = job.with_inputs(built.inputs.shared)
        if at_end is not None and start is not None:
            TENSORFLOW.info("%s", at_end)
            return _only_exported(job, built, start)
        target = _export_target(job, built)
        with built.graph.as_default(), resource_variables(), place.scope():
            recorder = stack.enter_context(recording(job))
            begun = Start(found, start, held, built.inputs.positioned)
            run = Runner(job, built, begun, place, team, recorder)
            # The export runs after this block, where a signal may cut it off: an export appears
            # whole or not at all.
            signals.print_stacks_on_request()
            with stop_on_signals() as stop:
                progress = run.run(stop)
        if stop:
            outcome.say_stopped(job, run, progress, stop)
            team.wait_kept()
            raise outcome.Stopped(stop.exit_code, outcome.so_far(job, run, progress))
        target = _export(job, built, run.commits.newest, target)
        result = outcome.finish(job, run, progress, target)
        recorder.finish(result, progress)
        return result


def _only_exported(job: Job, built: Program, start: Checkpoint) -> Result:
    """The result of a job that has no steps left: its export, unless that is there already."""
    try:
        target = _export_target(job, built)
    except ExportExistsError:
        TENSORFLOW.info("%s", report.already_exported(job.log_dir))
        return Result(start.step or 0, 0, checkpoint=start.prefix)
    target = _export(job, built, start.prefix, target)
    return Result(start.step or 0, 0, checkpoint=start.prefix, export_dir=target)


def _claim(job: Job, stack: ExitStack) -> tuple[Held | None, Checkpoint | None]:
    """Returns the lock on log_dir, if the job saves, and the checkpoint to start from."""
    held = None
    if job.log_dir is not None and (job.training or job.export.wanted):
        ensure_directory(job.log_dir)
    if job.log_dir is not None and job.training:
        held = stack.enter_context(lock(job.log_dir))
        refuse_in_the_way(job.log_dir)
        if not os.path.isabs(job.log_dir):
            where = report.absolute(job.log_dir, os.path.abspath(job.log_dir))
            TENSORFLOW.info("%s", where)
    untrained = job.training or job.restoring.untrained
    return held, choose(job.log_dir, job.restoring.checkpoint_path, untrained)


def _export_target(job: Job, built: Program) -> str | None:
    """Returns the directory to export to; raises before any step if it is not free."""
    if built.export_signature is None or job.log_dir is None:
        return None
    return export.target(job.log_dir, built.export_signature.version)


def _export(job: Job, built: Program, prefix: str, target: str | None) -> str | None:
    signature = built.export_signature
    if target is None or built.export_graph is None or signature is None:
        return None
    if signature.version == -1:
        # Another run may have exported under this version meanwhile.
        target = _export_target(job, built) or target
    assets = export.labels_beside(job.log_dir, prefix)
    extras = export.Extras(job.export.kinds, assets, job.restoring.averaged)
    return export.write(built.export_graph, signature, prefix, target, extras)
