"""Rehearses jobs for `--dry_run`: one or two steps, in a scratch folder that is removed.

A training makes one step and saves it. A second run of the same job restores this checkpoint, makes
one more step and exports. An evaluation or a prediction takes one batch.
"""

from __future__ import annotations

import glob
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import tensorflow.compat.v1 as tf

from moxing.engine.job.job import Export, Job, Model, Result
from moxing.engine.run import execution
from moxing.engine.wording import report
from moxing.errors import MoxNotSupportedError
from moxing.framework import file
from moxing.logs import TENSORFLOW

_KIB: Final = 1024
# The scratch folder of this process, and the folder in it that stands for each log_dir. All runs of
# a program share them, so that a run finds files of earlier runs; all are removed when Python ends.
_folder: list[tempfile.TemporaryDirectory[str]] = []
_stand_ins: dict[str, str] = {}
# The folders of the program as it names them, by the scratch folders that stand for them.
_named_by_program: dict[str, str] = {}


def rehearse(make: Callable[[], Job]) -> Result:
    """Makes one step of a job, and of a training a second step from the first step's checkpoint.

    Args:
        make: returns the job that would run, at each call for one run; nothing is written to its
            log_dir.

    Returns:
        The result of the last step.

    Raises:
        MoxNotSupportedError: the job is for several processes.
        MoxError: a part of the job can't be run.
    """
    job = make()
    if not job.group.alone:
        raise MoxNotSupportedError(
            "--dry_run is for one process. Try the program without --worker_hosts, --ps_hosts and"
            " the platform's variables for a cluster first."
        )
    short = _in_scratch(_shortened(job))
    if not job.training:
        result, first = _one_step(short)
        first.say_inputs()
        first.say_memory()
        say_passed(job, ["one batch", *_exported(result)])
        return result
    result, first = _one_step(replace(short, export=Export()))
    first.say_inputs()
    say_checkpoint(result)
    result, _ = _one_step(_in_scratch(_shortened(make())))
    first.say_memory()
    again = ["restored", "trained one more step"] if result.steps else ["found again"]
    done = ["trained one step", "saved", *again, *_exported(result)]
    say_passed(job, done)
    return result


def stand_in(log_dir: str | None) -> str:
    """Returns the scratch folder that stands for a folder of the program, the same at each call.

    Args:
        log_dir: a folder or URL, which a scratch folder stands for itself; None: a new folder.
    """
    if not _folder:
        _folder.append(tempfile.TemporaryDirectory(prefix="mox-dry-run-"))
    if log_dir is not None and _is_scratch(log_dir):
        return log_dir
    path = os.path.join(_folder[0].name, str(len(_stand_ins)))
    found = _stand_ins.setdefault(path if log_dir is None else _key(log_dir), path)
    os.makedirs(found, exist_ok=True)
    if log_dir is not None:
        _named_by_program.setdefault(found, log_dir)
    return found


def real(log_dir: str) -> str | None:
    """Returns the folder of the program for which a scratch folder stands; None: for no folder."""
    return _named_by_program.get(log_dir)


def checkpoint_for(path: str) -> str:
    """Returns the newest checkpoint of a dry training for a checkpoint of the same folder.

    Args:
        path: a checkpoint, or a folder of checkpoints, that the program names.

    Returns:
        The checkpoint; `path` itself where this process has not trained in the folder.
    """
    found = _stand_in_around(path)
    return (tf.train.latest_checkpoint(found) or path) if found else path


def _is_scratch(path: str) -> bool:
    return any(os.path.abspath(path).startswith(folder.name + os.sep) for folder in _folder)


def _one_step(job: Job) -> tuple[Result, First]:
    """Runs a job until its first step is done; returns its result and what its model was given."""
    first = First(job)
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
    fresh = own is not None and _key(own) not in _stand_ins and not _is_scratch(own)
    if start is not None:
        start = _stand_in_around(start) or start
    elif own is not None and fresh and not job.training:
        start = own
    return replace(job.starting_from(start), log_dir=stand_in(own))


def _stand_in_around(path: str) -> str | None:
    """Returns the folder that stands for log_dir; `path` is log_dir or a checkpoint in it.

    A folder in which this process has not trained does not stand for the checkpoints of log_dir.
    """
    found = _stand_ins.get(_key(path)) or _stand_ins.get(_key(os.path.dirname(path)))
    return found if found and glob.glob(f"{glob.escape(found)}/*.index") else None


def _key(path: str) -> str:
    return path.rstrip("/") if file.is_remote(path) else os.path.abspath(path)


class First:
    """Keeps the shapes of the inputs of a job's first model, and may stop the job after a step.

    Args:
        job: the job that will run, with the model function of this object.
        stops: whether the job ends after its first step.

    Attributes:
        model_fn: the job's model function, with a hook that reads the shapes.
    """

    def __init__(self, job: Job, stops: bool = True) -> None:
        self._mode, self._build, self._stops = job.mode, job.model_fn, stops
        self._inputs: dict[str, Any] | None = None
        self._parameters: list[tf.Variable] = []
        self._shapes: dict[str, Any] = {}
        self.model_fn: Callable[[Any, str], Model] = self._presented(job.model_fn)

    def _presented(self, original: Any) -> Any:
        def model_fn(inputs: Any, mode: str) -> Model:
            return self._call(inputs, mode)

        model_fn.__wrapped__ = original  # type: ignore[attr-defined]
        return model_fn

    def _call(self, inputs: Any, mode: str) -> Model:
        model = self._build(inputs, mode)
        if mode != self._mode or self._inputs is not None:
            return model
        self._inputs = _named(inputs)
        self._parameters = tf.trainable_variables()
        return replace(
            model, hooks=(*model.hooks, _Reading(self._inputs, self._shapes, self._stops))
        )

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


class _Reading(tf.train.SessionRunHook):
    """Reads the shapes of tensors in each step, and may ask for the end after the first step."""

    def __init__(self, inputs: Mapping[str, Any], shapes: dict[str, Any], stops: bool) -> None:
        self._inputs, self._into, self._stops = inputs, shapes, stops
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
        if self._stops:
            run_context.request_stop()


def _named(inputs: Any) -> dict[str, Any]:
    """Returns the tensors that a model function was given, by their names or their numbers."""
    parts = inputs if isinstance(inputs, Mapping | list | tuple) else [inputs]
    return dict(_flat("", parts))


def _flat(before: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the tensors in a nest of inputs, with names such as "input 0 image"."""
    if isinstance(value, Mapping):
        pairs: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list | tuple):
        pairs = enumerate(value) if before else ((f"input {n}", v) for n, v in enumerate(value))
    else:
        if isinstance(value, tf.Tensor | tf.SparseTensor):
            yield before, value
        return
    for name, inner in pairs:
        yield from _flat(f"{before} {name}".strip(), inner)


def say_checkpoint(result: Result) -> None:
    """Says the size of a run's checkpoint, if it has one."""
    if result.checkpoint:
        TENSORFLOW.info("Dry run: the checkpoint takes %s.", report.size(_size(result.checkpoint)))


def _exported(result: Result) -> list[str]:
    return ["exported a model"] if result.export_dir else []


def say_passed(job: Job, done: list[str]) -> None:
    """Says which parts of a job were done, and in which folder of the program nothing was."""
    log_dir = real(stand_in(job.log_dir)) if job.log_dir else None
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
