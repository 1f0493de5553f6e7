"""`--dry_run`: each `mox.run` of a program makes one or two steps, in a folder that is removed.

A training makes one step and saves it. A second run of the same job restores this checkpoint, makes
one more step and exports. An evaluation or a prediction takes one batch.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import tensorflow.compat.v1 as tf

from moxing.engine.job.job import Export, Job, Model, Result
from moxing.engine.run import execution
from moxing.engine.wording import report
from moxing.errors import MoxNotSupportedError
from moxing.framework import file
from moxing.logs import TENSORFLOW
from moxing.tensorflow.executor.callables import presented_as

_KIB: Final = 1024
# The scratch folder of this process, and the folder in it that stands for each log_dir. All runs of
# a program share them, so that a run finds files of earlier runs; all are removed when Python ends.
_folder: list[tempfile.TemporaryDirectory[str]] = []
_stand_ins: dict[str, str] = {}


def rehearse(job: Job) -> Result:
    """Makes one step of a job, and of a training a second step from the first step's checkpoint.

    Args:
        job: the job that would run; nothing is written to its log_dir.

    Returns:
        The result of the last step.

    Raises:
        MoxNotSupportedError: the job is for several processes.
        MoxError: a part of the job can't be run.
    """
    if not job.group.alone:
        raise MoxNotSupportedError(
            "--dry_run is for one process. Try the program without --worker_hosts, --ps_hosts and"
            " the platform's variables for a cluster first."
        )
    where = job.log_dir
    short = _in_scratch(_shortened(job))
    if not job.training:
        result, first = _one_step(short)
        first.say_inputs()
        first.say_memory()
        _say(job, ["one batch", *_exported(result)], where)
        return result
    result, first = _one_step(replace(short, export=Export()))
    first.say_inputs()
    if result.checkpoint:
        TENSORFLOW.info("Dry run: the checkpoint takes %s.", report.size(_size(result.checkpoint)))
    result, _ = _one_step(short)
    first.say_memory()
    again = ["restored", "trained one more step"] if result.steps else ["found again"]
    done = ["trained one step", "saved", *again, *_exported(result)]
    _say(job, done, where)
    return result


def _one_step(job: Job) -> tuple[Result, _First]:
    """Runs a job until its first step is done; returns its result and what its model was given."""
    first = _First(job)
    return execution.execute(replace(job, model_fn=first.model_fn)), first


def _shortened(job: Job) -> Job:
    """Returns the job with all reports and outputs due at each step, and no save between steps."""
    outputs = replace(job.outputs, every=1) if job.outputs.function else job.outputs
    return replace(
        job,
        logging=replace(job.logging, every=1, profile=None, loggers=()),
        summaries=replace(job.summaries, every=1),
        outputs=outputs,
        saving=replace(job.saving, every_secs=None, every_steps=None, cached=False),
    )


def _in_scratch(job: Job) -> Job:
    """Returns the job with a folder of the scratch folder in place of its log_dir.

    A job that does not train starts from the checkpoint of a training of this process; where there
    was no such training, from the newest checkpoint of the real log_dir.
    """
    own, start = job.log_dir, job.restoring.checkpoint_path
    fresh = own is not None and _key(own) not in _stand_ins
    if start is not None:
        start = _stand_in_around(start) or start
    elif own is not None and fresh and not job.training:
        start = own
    moved = replace(job.starting_from(start), log_dir=_stand_in(own))
    os.makedirs(str(moved.log_dir), exist_ok=True)
    return moved


def _stand_in(log_dir: str | None) -> str:
    if not _folder:
        _folder.append(tempfile.TemporaryDirectory(prefix="mox-dry-run-"))
    path = os.path.join(_folder[0].name, str(len(_stand_ins)))
    return _stand_ins.setdefault(path if log_dir is None else _key(log_dir), path)


def _stand_in_around(path: str) -> str | None:
    """Returns the folder that stands for log_dir; `path` is log_dir or a checkpoint in it."""
    return _stand_ins.get(_key(path)) or _stand_ins.get(_key(os.path.dirname(path)))


def _key(path: str) -> str:
    return path.rstrip("/") if file.is_remote(path) else os.path.abspath(path)


class _First:
    """Stops a job after its first step, and keeps the shapes of the inputs of its first model."""

    def __init__(self, job: Job) -> None:
        self._mode, self._build = job.mode, job.model_fn
        self._inputs: dict[str, Any] | None = None
        self._parameters: list[tf.Variable] = []
        self._shapes: dict[str, Any] = {}
        self.model_fn: Callable[[Any, str], Model] = presented_as(
            job.model_fn, lambda inputs, mode: self._call(inputs, mode)
        )

    def _call(self, inputs: Any, mode: str) -> Model:
        model = self._build(inputs, mode)
        if mode != self._mode or self._inputs is not None:
            return model
        self._inputs = _named(inputs)
        self._parameters = tf.trainable_variables()
        return replace(model, hooks=(*model.hooks, _Stop(self._inputs, self._shapes)))

    def say_inputs(self) -> None:
        """Says the types and shapes of the inputs of the step."""
        described = [
            f"{name} {value.dtype.base_dtype.name} {self._shapes.get(name, value.shape)}"
            for name, value in (self._inputs or {}).items()
        ]
        if described:
            TENSORFLOW.info(
                "Dry run: a batch of each device in %s has %s.", self._mode, ", ".join(described)
            )

    def say_memory(self) -> None:
        """Says the sizes of the trained variables, and the memory that the process took."""
        counts = [variable.shape.num_elements() or 0 for variable in self._parameters]
        taken = sum(
            count * variable.dtype.base_dtype.size
            for count, variable in zip(counts, self._parameters, strict=True)
        )
        TENSORFLOW.info(
            "Dry run: %s numbers in %d trainable variables, %s; this process took at most %s of"
            " memory so far.",
            f"{sum(counts):,}",
            len(counts),
            report.size(taken),
            report.size(_peak()),
        )


class _Stop(tf.train.SessionRunHook):
    """Asks for the end after one step, and reads the shapes of tensors in this step."""

    def __init__(self, inputs: Mapping[str, Any], shapes: dict[str, Any]) -> None:
        self._inputs, self._into = inputs, shapes
        self._shapes: dict[str, tf.Tensor] = {}

    def begin(self) -> None:
        self._shapes = {
            name: tf.shape(value)
            for name, value in self._inputs.items()
            if isinstance(value, tf.Tensor)
        }

    def before_run(self, run_context: tf.train.SessionRunContext) -> tf.train.SessionRunArgs:
        del run_context
        return tf.train.SessionRunArgs(self._shapes)

    def after_run(self, run_context: tf.train.SessionRunContext, run_values: Any) -> None:
        self._into.update(
            {name: tuple(map(int, shape)) for name, shape in run_values.results.items()}
        )
        run_context.request_stop()


def _named(inputs: Any) -> dict[str, Any]:
    """Returns the tensors that a model function was given, by their names or their numbers."""
    if isinstance(inputs, Mapping):
        pairs = {str(name): value for name, value in inputs.items()}
    else:
        values = inputs if isinstance(inputs, list | tuple) else [inputs]
        pairs = {f"input {number}": value for number, value in enumerate(values)}
    kinds = (tf.Tensor, tf.SparseTensor)
    return {name: value for name, value in pairs.items() if isinstance(value, kinds)}


def _exported(result: Result) -> list[str]:
    return ["exported a model"] if result.export_dir else []


def _say(job: Job, done: list[str], log_dir: str | None) -> None:
    where = f" Nothing was written to {log_dir}." if log_dir else ""
    TENSORFLOW.info("Dry run of %s passed: %s.%s", job.mode, ", ".join(done), where)


def _size(prefix: str) -> int:
    folder, name = os.path.split(prefix)
    entries = [entry for entry in os.scandir(folder) if entry.name.startswith(f"{name}.")]
    return sum(entry.stat().st_size for entry in entries)


def _peak() -> int:
    """The largest resident memory of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * _KIB
