"""What a run was: its job, its environment and how it ended, as plain values for JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import tensorflow.compat.v1 as tf

import moxing
from moxing.engine.graph import devices
from moxing.engine.job.job import Job
from moxing.engine.remote import path_alias

FORMAT: Final = 1
# Told in every case; other fields only where they are not at their defaults.
_TOLD: Final = ("log_dir", "batch_size", "max_steps", "log_every", "summary_every", "save_secs")
# Fields of a job that say nothing to a reader, or are told elsewhere.
_UNTOLD: Final = ("digest", "settings", "histograms", "automatic_summaries", "profile")
_USER_OF_URL: Final = re.compile(r"(\w+://)[^/@\s]*@")
_PLAIN: Final = (str, int, float, bool, type(None))


def describe(job: Job) -> dict[str, Any]:
    """The job's fields that are plain values, those that matter first."""
    told: dict[str, Any] = {"mode": job.mode, **{name: getattr(job, name) for name in _TOLD}}
    for field in dataclasses.fields(job):
        value = getattr(job, field.name)
        if field.name not in _UNTOLD and field.default not in (dataclasses.MISSING, value):
            told[field.name] = ", ".join(map(str, value)) if isinstance(value, tuple) else value
    told = {name: harmless(value) for name, value in told.items() if isinstance(value, _PLAIN)}
    if job.cluster is not None:
        told["processes"] = job.cluster.size
    return told


def settings(job: Job) -> dict[str, Any]:
    """The flags of the run, as the dialect tells them."""
    return {name: harmless(value) for name, value in job.settings.items()}


def environment() -> dict[str, Any]:
    """Versions and devices; neither the machine's name nor the user's."""
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
    """As JSON; what is not finite becomes text."""
    return json.dumps(_finite(facts), indent=1, allow_nan=False).encode() + b"\n"


def read(path: str) -> dict[str, Any] | None:
    """Facts that were written; None: there are none, or of another format."""
    try:
        with open(path, "rb") as file:
            facts = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    whole = isinstance(facts, dict) and facts.get("format") == FORMAT
    tables = ("job", "flags", "environment", "outcome")
    return facts if whole and all(isinstance(facts.get(name), dict) for name in tables) else None


def harmless(value: Any) -> Any:
    """Text as the user wrote it, without the name and password that a URL may hold."""
    if not isinstance(value, str):
        return value
    return _USER_OF_URL.sub(r"\1", path_alias.named(value))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if isinstance(value, _PLAIN) else str(value)


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0
