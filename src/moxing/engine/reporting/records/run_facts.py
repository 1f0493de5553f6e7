"""The facts of a run, as plain values for JSON: its job, its environment and its end."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final

import numpy as np
import tensorflow.compat.v1 as tf

import moxing
from moxing.engine.graph import devices
from moxing.engine.job.job import Data, Job
from moxing.engine.remote import path_alias
from moxing.engine.reporting.records import run_file

# The job's fields that are always recorded, by their names in records.
_TOLD: Final = {
    "mode": "mode",
    "log_dir": "log_dir",
    "batch_size": "data.batch_size",
    "max_steps": "max_steps",
    "log_every": "logging.every",
    "summary_every": "summaries.every",
    "save_secs": "saving.every_secs",
}
# The fields that are recorded only if they differ from their defaults.
_UNUSUAL: Final = {
    "make_batches": "data.make_batches",
    "inter_mode": "inter_mode",
    "cached": "saving.cached",
    "sync_save": "saving.in_step",
    "checkpoint_path": "restoring.checkpoint_path",
    "untrained": "restoring.untrained",
    "output_every": "outputs.every",
    "save_steps": "saving.every_steps",
    "keep": "saving.keep",
    "again": "restoring.again",
    "export": "export.wanted",
    "export_kinds": "export.kinds",
    "restore_include": "restoring.include",
    "restore_exclude": "restoring.exclude",
    "trainable_include": "optimization.include",
    "trainable_exclude": "optimization.exclude",
    "compute_dtype": "precision.compute_dtype",
    "loss_scale": "precision.loss_scale",
    "dynamic_loss_scale": "precision.dynamic",
    "inter_op_threads": "threads.inter_op",
    "intra_op_threads": "threads.intra_op",
    "seed": "seed",
    "devices": "placement.group.devices",
    "copied": "placement.copied",
    "log_first": "logging.first_device",
    "synchronous": "placement.group.synchronous",
    "on_servers": "placement.on_servers",
    "trial": "placement.trial",
    "compressed": "placement.compressed",
    "start_timeout": "placement.group.start_timeout",
    "stall_timeout": "placement.group.stall_timeout",
}
_USER_OF_URL: Final = re.compile(r"(\w+://)[^/@\s]*@")
_PLAIN: Final = (str, int, float, bool, type(None))


def describe(job: Job) -> dict[str, Any]:
    """Returns the job's fields that are plain values, the most important first."""
    usual = Job(job.mode, Data(job.data.input_fn), job.model_fn)
    told: dict[str, Any] = {name: attrgetter(path)(job) for name, path in _TOLD.items()}
    for name, path in _UNUSUAL.items():
        value = attrgetter(path)(job)
        if value != attrgetter(path)(usual):
            told[name] = ", ".join(map(str, value)) if isinstance(value, tuple) else value
    told = {name: harmless(value) for name, value in told.items() if isinstance(value, _PLAIN)}
    if job.group.cluster is not None:
        told["processes"] = job.group.cluster.size
    return told


def settings(job: Job) -> dict[str, Any]:
    """Returns the flags of the run, as the dialect gives them."""
    return {name: harmless(value) for name, value in job.logging.settings.items()}


def configuration(job: Job) -> dict[str, Any]:
    """Returns the fields, the flags of the run, and those of the program, for trackers."""
    own = job.logging.program.get("flags", {})
    named = {f"--{name}": harmless(value) for name, value in own.items()}
    return {**describe(job), **named, **settings(job)}


def environment() -> dict[str, Any]:
    """Returns versions and devices, but neither the machine's nor the user's name."""
    found = {
        "openmox": moxing.__version__,
        "TensorFlow": tf.version.VERSION,
        "NumPy": np.__version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else None,
        "GPUs": len(tf.config.list_physical_devices("GPU")) if devices.has_gpu() else 0,
    }
    memory = _memory()
    return {**found, "memory": f"{memory / (1 << 30):.1f} GiB"} if memory else found


def encode(facts: Mapping[str, Any]) -> bytes:
    """Returns the facts as JSON; numbers that are not finite become text."""
    return json.dumps(_finite(facts), indent=1, allow_nan=False).encode() + b"\n"


def read(path: str) -> dict[str, Any] | None:
    """Reads the facts from a file; None if it has none, or another format."""
    try:
        with open(path, "rb") as file:
            return run_file.decode(file.read())
    except OSError:
        return None


def harmless(value: Any) -> Any:
    """Returns the value without the name and password that a URL in it may hold."""
    if not isinstance(value, str):
        return value
    return _USER_OF_URL.sub(r"\1", path_alias.named(value))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if isinstance(value, _PLAIN) else str(value)


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0
