"""labels.txt beside the model: written once by training, and only where it is known."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.tensorflow.datasets import labels
from moxing.tensorflow.executor import label_file


def _said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if "classes" in r.getMessage()]


@pytest.fixture
def train(run: Callable[..., Any], tmp_path: Path) -> Callable[..., Path]:
    """`train(["daisy"], ...)`: trains on readers of such classes; the path of labels.txt."""

    def call(*sets: Sequence[str], **arguments: Any) -> Path:
        def input_fn(mode: str) -> Any:
            for names in sets:
                labels.announce(names)
            return [tf.ones([4, 3]), tf.zeros([4], tf.int32)]

        run(**({"input_fn": input_fn, "log_dir": str(tmp_path / "log")} | arguments))
        return tmp_path / "log" / label_file.NAME

    return call


def test_training_writes_it_and_a_resumed_run_leaves_it(
    train: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path = train(["daisy", "玫瑰 花"])
    assert path.read_text(encoding="utf-8") == "0: daisy\n1: 玫瑰 花\n"
    train(["daisy", "玫瑰 花"], max_number_of_steps=5)
    assert _said(caplog) == [f"Wrote the names of the 2 classes to {path}"]


def test_other_classes_than_before_are_a_warning(
    train: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    path = train(["daisy", "roses"])
    train(["roses", "tulips"], max_number_of_steps=5)
    assert path.read_text(encoding="utf-8") == "0: roses\n1: tulips\n"
    [warning] = [text for text in _said(caplog) if text.startswith(str(path))]
    assert warning == (
        f"{path} named other classes (0: daisy, 1: roses) than the data has now (0: roses,"
        " 1: tulips); it is written anew. The numbers of a checkpoint there that was trained with"
        " the former classes mean those classes."
    )


def test_classes_that_readers_do_not_share_are_not_written(train: Callable[..., Path]) -> None:
    assert not train(["daisy"], ["roses"]).exists()


def test_evaluation_writes_none(train: Callable[..., Path]) -> None:
    path = train()
    train(["daisy"], run_mode=mox.ModeKeys.EVAL)
    assert not path.exists()
