"""Exports a checkpoint of a job's model, without a step of the job."""

from __future__ import annotations

import dataclasses
import os

from moxing.engine import export
from moxing.engine.checkpoint import reader
from moxing.engine.checkpoint.directory import ensure_directory
from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.checkpoint.restoring.source import choose, locate
from moxing.engine.job.job import EVAL, Job, Result
from moxing.engine.model import program
from moxing.engine.remote.log_dir import run_at_home
from moxing.framework import file
from moxing.logs import TENSORFLOW


def export_checkpoint(job: Job, path: str | None, to: str | None) -> Result:
    """Builds the export graph of a job, and writes it with the values of a checkpoint.

    Args:
        job: its input_fn is called for the shapes of the inputs, its model_fn in EXPORT mode;
            `export.kinds` are the kinds of files to write.
        path: a checkpoint, or a directory of checkpoints; None for the checkpoint that an
            evaluation would take, from `log_dir` or else from `checkpoint_path`.
        to: directory that gets the model, under its version; None for `log_dir`, or else for the
            directory of the checkpoint.

    Raises:
        CheckpointError: there is no such checkpoint.
        MoxError: the model can't be exported.
    """
    if path is None and to is not None:
        path = _source(job)
    directory = to or job.log_dir
    wanted = dataclasses.replace(
        job.starting_from(path or job.restoring.checkpoint_path),
        mode=EVAL,
        saving=dataclasses.replace(job.saving, cached=False),
        log_dir=directory,
    )

    def here(moved: Job) -> Result:
        given = moved.restoring.checkpoint_path
        if path is not None and given is not None:
            start = locate(given)
        else:
            start = choose(moved.log_dir, given, False)
        assert start is not None  # Otherwise `choose` has raised an error.
        at_home = dataclasses.replace(moved, mode=job.mode)
        return _export(at_home, start, None if path is not None else moved.log_dir)

    return run_at_home(wanted, here)


def _source(job: Job) -> str | None:
    """Returns the path of the checkpoint that an evaluation would take; None if there is none."""
    own = job.log_dir
    if own is not None and (file.is_remote(own) or newest(own, quiet=True) is not None):
        return own
    return job.restoring.checkpoint_path


def _export(job: Job, start: Checkpoint, labels: str | None) -> Result:
    names = reader.stored(start.prefix).shapes
    graph, signature = program.build_export(job, names, f"the checkpoint {start.prefix}")
    directory = job.log_dir or os.path.dirname(start.prefix) or "."
    ensure_directory(directory)
    target = export.target(directory, signature.version)
    assets = export.labels_beside(labels, start.prefix)
    extras = export.Extras(job.export.kinds, assets, job.restoring.averaged)
    export.write(graph, signature, start.prefix, target, extras)
    TENSORFLOW.info("Exported the checkpoint %s to %s.", start.prefix, target)
    return Result(start.step or 0, 0, checkpoint=start.prefix, export_dir=target)
