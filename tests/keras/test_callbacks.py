"""Callbacks that work in batches are called as Keras calls them."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import BATCH, FAMILIES, X, Y, assert_equal, dense, eagerly

import moxing.keras
from moxing.errors import MoxNotSupportedError
from moxing.keras.callbacks import Callbacks, without_done

CALL: dict[str, Any] = {"batch_size": BATCH, "epochs": 2, "shuffle": False, "verbose": 0}


def _recorder(package: str, seen: list[tuple[Any, ...]], stop_at: int | None) -> Any:
    keras: Any = importlib.import_module(package)

    class Recorder(keras.callbacks.Callback):  # type: ignore[misc, name-defined]
        """Halves the learning rate after each batch, and notes the calls."""

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            seen.append(("epoch", epoch))

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            seen.append(("begin", batch, float(self.model.get_weights()[0].sum())))

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            seen.append(("end", batch, float(logs["loss"]), float(logs["accuracy"])))
            rate = self.model.optimizer.learning_rate
            rate.assign(rate * 0.5)
            if stop_at is not None and len(seen) > stop_at:
                self.model.stop_training = True

    return Recorder()


@pytest.mark.parametrize("package", FAMILIES)
@pytest.mark.parametrize(("devices", "stop_at"), [(1, None), (2, 8)])
def test_batches_are_called_as_in_keras(package: str, devices: int, stop_at: int | None) -> None:
    theirs, ours = dense(package), dense(package)
    expected, found = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    eagerly(theirs).fit(X, Y, callbacks=[_recorder(package, expected, stop_at)], **CALL)
    called = [_recorder(package, found, stop_at)]
    moxing.keras.fit(ours, X, Y, callbacks=called, num_gpus=devices, **CALL)
    assert [call[:2] for call in found] == [call[:2] for call in expected]
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine[2:], other[2:], rtol=1e-4, atol=1e-5)
    assert_equal(theirs, ours)


@pytest.mark.parametrize("package", FAMILIES)
def test_a_checkpoint_every_second_batch(package: str, tmp_path: Path) -> None:
    keras: Any = importlib.import_module(package)
    path = str(tmp_path / "{epoch}-{batch}.weights.h5")
    saving = keras.callbacks.ModelCheckpoint(path, save_weights_only=True, save_freq=2)
    moxing.keras.fit(dense(package), X, Y, callbacks=[saving], **CALL)
    ours = sorted(file.name for file in tmp_path.iterdir())
    for file in tmp_path.iterdir():
        file.unlink()
    saving = keras.callbacks.ModelCheckpoint(path, save_weights_only=True, save_freq=2)
    eagerly(dense(package)).fit(X, Y, callbacks=[saving], **CALL)
    assert ours == sorted(file.name for file in tmp_path.iterdir())
    assert len(ours) == 5


@pytest.mark.parametrize("package", FAMILIES)
def test_tensorboard_gets_values_of_epochs_and_batches(package: str, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    keras: Any = importlib.import_module(package)
    callbacks = [
        keras.callbacks.TensorBoard(str(tmp_path / "epochs")),
        keras.callbacks.TensorBoard(str(tmp_path / "batches"), update_freq=1),
    ]
    moxing.keras.fit(dense(package), X, Y, callbacks=callbacks, **CALL)
    for folder, tag in (("epochs", b"epoch_loss"), ("batches", b"batch_loss")):
        written = b"".join(f.read_bytes() for f in tmp_path.glob(f"{folder}/train/events*"))
        assert tag in written


def test_tensorboard_without_its_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    keras: Any = importlib.import_module("keras")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MoxNotSupportedError, match="pip install tensorboard"):
        Callbacks([keras.callbacks.TensorBoard("folder")], None, True, "keras")


@pytest.mark.parametrize("package", FAMILIES)
def test_callbacks_whose_work_fit_does_are_left_out(
    package: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The folder of BackupAndRestore takes the checkpoints, from which a second call goes on."""
    keras: Any = importlib.import_module(package)
    folder = tmp_path / "backup"

    def callbacks() -> list[Any]:
        of_keras = keras.callbacks
        return [of_keras.BackupAndRestore(str(folder)), of_keras.TerminateOnNaN()]

    arguments = {"batch_size": BATCH, "shuffle": False}
    with caplog.at_level("INFO", logger="tensorflow"):
        moxing.keras.fit(dense(package), (X, Y), epochs=1, callbacks=callbacks(), **arguments)
    assert f"BackupAndRestore is left out: the run resumes from its checkpoints in {folder}." in (
        caplog.text
    )
    assert "TerminateOnNaN is left out: a loss that is not finite ends the run" in caplog.text
    resumed = dense(package)
    result = moxing.keras.fit(resumed, (X, Y), epochs=2, callbacks=callbacks(), **arguments)
    assert (result.steps, result.global_step) == (5, 10)
    whole = dense(package)
    moxing.keras.fit(whole, (X, Y), epochs=2, **arguments)
    assert_equal(resumed, whole)

    class BackupAndRestore(keras.callbacks.Callback):  # type: ignore[misc, name-defined]
        """A callback of the program that happens to have the name."""

    mine: list[Any] = [BackupAndRestore()]
    assert without_done(mine, None) == (mine, None)
