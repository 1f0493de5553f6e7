"""Small jobs for the tests of the engine, and what a run leaves in its directory."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.export import ExportSignature
from moxing.engine.job.job import (
    TRAIN,
    Data,
    Export,
    Job,
    Logging,
    Loss,
    Model,
    Optimization,
    Outputs,
    Precision,
    Restoring,
    Result,
    Saving,
    Summaries,
    Threads,
)
from moxing.engine.job.placement import Placement, ProcessGroup
from moxing.engine.run import execution

once = tf.data.make_one_shot_iterator


def constant(mode: str) -> tf.Tensor:
    """The same number every step: data that is positioned the same wherever a run starts."""
    return tf.constant(1.0)


def numbers(stop: int) -> Callable[[str], tf.Tensor]:
    """An input_fn of the numbers 0.0, 1.0 and so on, one an element."""

    def input_fn(mode: str) -> tf.Tensor:
        return tf.cast(once(tf.data.Dataset.range(stop)).get_next(), tf.float32)

    return input_fn


def generated(generator: Callable[[], Any]) -> Callable[[str], tf.Tensor]:
    """An input_fn of the numbers that a Python generator yields."""

    def input_fn(mode: str) -> tf.Tensor:
        data = tf.data.Dataset.from_generator(generator, tf.float32, [])
        return once(data).get_next()

    return input_fn


def model_fn(inputs: Any, mode: str) -> Model:
    """Two weights that follow the input."""
    weights = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(weights - tf.reduce_mean(inputs[0])))
    return Model(losses=(Loss(loss),), log={"loss": loss}, outputs={"x": inputs[0]})


def exporting(inputs: Any, mode: str) -> Model:
    """`model_fn`, exporting three times the product of input and weights as `y`."""
    model = model_fn(inputs, mode)
    with tf.variable_scope("", reuse=True):
        result = 3.0 * inputs[0] * tf.get_variable("w", [2])
    return dataclasses.replace(model, export=ExportSignature({"x": inputs[0]}, {"y": result}))


def momentum() -> tf.train.Optimizer:
    return tf.train.MomentumOptimizer(0.1, 0.9)


def adam() -> tf.train.Optimizer:
    return tf.train.AdamOptimizer(0.05)


# Which value of a job has the options that tests give by one name each, and its name for them.
_PARTS: dict[str, tuple[Any, dict[str, str]]] = {
    "data": (Data, {"input_fn": "", "batch_size": "", "make_batches": ""}),
    "optimization": (
        Optimization,
        {
            "optimizer_fns": "",
            "trainable_include": "include",
            "trainable_exclude": "exclude",
            "updating": "",
        },
    ),
    "saving": (
        Saving,
        {
            **{"save_secs": "every_secs", "save_steps": "every_steps"},
            **{"keep": "", "listeners": "", "hours": "", "cached": "", "in_step": ""},
        },
    ),
    "restoring": (
        Restoring,
        {
            **{"restore_include": "include", "restore_exclude": "exclude"},
            **{"checkpoint_path": "", "again": "", "untrained": "", "averaged": ""},
        },
    ),
    "logging": (
        Logging,
        {
            **{"log_every": "every", "log_first": "first_device"},
            **{"profile": "", "settings": "", "names": ""},
        },
    ),
    "summaries": (
        Summaries,
        {"summary_every": "every", "automatic_summaries": "automatic", "histograms": ""},
    ),
    "outputs": (Outputs, {"output_fn": "function", "output_every": "every"}),
    "export": (Export, {"export": "wanted", "export_kinds": "kinds"}),
    "precision": (
        Precision,
        {"compute_dtype": "", "loss_scale": "", "dynamic_loss_scale": "dynamic"},
    ),
    "threads": (Threads, {"inter_op_threads": "inter_op", "intra_op_threads": "intra_op"}),
}
_GROUP = ("cluster", "devices", "synchronous", "digest", "start_timeout", "stall_timeout")
_PLACEMENT = ("copied", "on_servers", "trial", "compressed", "together")


def make_job(**fields: Any) -> Job:
    """A training of five steps on `constant`, saved first and last; `fields` replace the job's."""
    given: dict[str, Any] = {
        "mode": TRAIN,
        "input_fn": constant,
        "model_fn": model_fn,
        "optimizer_fns": [momentum],
        "max_steps": 5,
        "save_secs": None,
        **{n: os.fspath(v) if isinstance(v, os.PathLike) else v for n, v in fields.items()},
    }
    group = ProcessGroup(**{name: given.pop(name) for name in _GROUP if name in given})
    placed = {name: given.pop(name) for name in _PLACEMENT if name in given}
    parts: dict[str, Any] = {"placement": Placement(group, **placed)}
    for part, (kind, options) in _PARTS.items():
        own = {to or name: given.pop(name) for name, to in options.items() if name in given}
        parts[part] = kind(**own)
    return Job(**given, **parts)


def execute(**fields: Any) -> Result:
    """Runs `make_job(**fields)`."""
    return execution.execute(make_job(**fields))


def values(prefix: str | None) -> dict[str, np.ndarray]:
    """Every variable in a checkpoint."""
    assert prefix is not None
    reader = tf.train.load_checkpoint(prefix)
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def same(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> bool:
    """Whether two checkpoints hold the same variables, to the last bit."""
    return left.keys() == right.keys() and all(
        left[name].tobytes() == right[name].tobytes() for name in left
    )


def exported(directory: str | None, x: float) -> np.ndarray:
    """What an exported model makes of a number."""
    with tf.Graph().as_default(), tf.Session() as session:
        model = tf.saved_model.load(session, ["serve"], directory)
        signature = model.signature_def["serving_default"]
        return session.run(signature.outputs["y"].name, {signature.inputs["x"].name: x})


def only_step_zero(log_dir: Path) -> bool:
    """Whether nothing but the start of a run was saved."""
    found = newest(log_dir)
    assert found is not None
    return found.step == 0 and not list(log_dir.glob("model.ckpt-[1-9]*"))


def messages(log: Any) -> list[str]:
    """The lines logged, times and rates replaced by T."""
    lines = [record.getMessage() for record in log.records]
    return [re.sub(r"in [\d.]+ s|sample/sec: [\d.]+|[\d,.]+ samples/s", "T", ln) for ln in lines]


def steps_saved(log: Any) -> list[int]:
    """The global steps that the log says were saved, in order."""
    lines = [record.getMessage() for record in log.records]
    return [int(line.split()[3]) for line in lines if line.startswith("Saving checkpoints for ")]
