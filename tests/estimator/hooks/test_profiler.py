"""Hooks of a training that ask for traces get them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow.compat.v1 as tf

import moxing.estimator as tfe


def test_the_profiler_writes_timelines(
    model_fn: Any, read: Callable[..., Any], tmp_path: Path
) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    with tf.Graph().as_default():
        hook = tf.train.ProfilerHook(save_steps=3, output_dir=str(traces))
    tfe.Estimator(model_fn, str(tmp_path / "model")).train(read(50), [hook], steps=5)

    written = sorted(traces.glob("timeline-*.json"))
    assert written
    events = json.loads(written[-1].read_text())["traceEvents"]
    assert any(event.get("ph") == "X" for event in events)
