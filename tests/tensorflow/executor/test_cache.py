"""`mox.cache()` has every later run write to the local disk first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.tensorflow.executor import cache


@pytest.fixture(autouse=True)
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "_wanted", [])
    monkeypatch.setenv("MOX_FILE_CACHE_DIR", str(tmp_path / "local"))
    return tmp_path / "local"


def train(log_dir: Path, watch: Callable[[], Any]) -> Any:
    def input_fn(mode: str) -> Any:
        return tf.data.Dataset.from_tensors(1.0).repeat()

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        watch()
        weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(weight - inputs[0]))
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    return mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.1),
        run_mode=mox.ModeKeys.TRAIN,
        log_dir=log_dir,
        max_number_of_steps=3,
    )


def test_runs_write_to_the_local_disk_first(
    tmp_path: Path, local: Path, said: Callable[..., list[str]]
) -> None:
    rooms: list[int] = []

    def watch() -> None:
        rooms.append(len(list(local.glob(".mox-room-*"))) if local.exists() else 0)

    train(tmp_path / "before", watch)
    mox.cache()
    mox.cache()
    result = train(tmp_path / "after", watch)

    assert rooms == [0, 1]
    assert result.checkpoint == str(tmp_path / "after" / "model.ckpt-3")
    visible = [
        sorted(path.name for path in (tmp_path / name).glob("[cm]*"))
        for name in ("before", "after")
    ]
    assert visible[0] == visible[1]
    assert said("mox.cache()") == [
        f"mox.cache(): checkpoints and summaries go to {local} first, and to log_dir in the"
        " background. For s3:// and obs:// that is so without it, too."
    ]
