"""Callbacks that change the learning rate, with and without a rate to start from."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from moxing.errors import MoxTypeError
from moxing.horovod import callbacks, world


class _Backend:
    @staticmethod
    def get_value(rate: float) -> float:
        return rate


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    class Callback:
        params = {"steps": 10}
        model: SimpleNamespace

    package = SimpleNamespace(callbacks=SimpleNamespace(Callback=Callback), backend=_Backend)
    monkeypatch.setattr(callbacks, "keras", lambda: package)
    monkeypatch.setattr(world, "size", lambda: 4)
    return callbacks.make()


def _model(rate: float) -> SimpleNamespace:
    return SimpleNamespace(optimizer=SimpleNamespace(learning_rate=rate))


@pytest.mark.parametrize("given", [{}, {"initial_lr": 0.8}])
def test_a_warmup_starts_from_the_rate_of_one_process(
    kinds: SimpleNamespace, given: dict[str, float]
) -> None:
    callback = kinds.LearningRateWarmupCallback(warmup_epochs=5, **given)
    callback.model = _model(0.8)
    callback.on_train_begin()
    rates = []
    for epoch, batch in ((0, 0), (2, 4), (4, 9)):
        callback.on_epoch_begin(epoch)
        callback.on_train_batch_begin(batch)
        rates.append(callback.model.optimizer.learning_rate)

    # From a quarter of the rate to all of it: the share grows by 3/4 in 50 batches.
    assert rates == pytest.approx([0.2 + 0.6 * batches / 50 for batches in (1, 25, 50)])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [((0.1,), {}), ((), {"multiplier": 0.1}), ((2.0, 0.1), {}), ((lambda epoch: 0.1,), {})],
)
def test_a_schedule_takes_the_arguments_of_all_versions(
    kinds: SimpleNamespace, arguments: tuple[object, ...], named: dict[str, float]
) -> None:
    callback = kinds.LearningRateScheduleCallback(*arguments, start_epoch=3, **named)
    callback.model = _model(2.0)
    callback.on_train_begin()
    callback.on_epoch_begin(2)
    assert callback.model.optimizer.learning_rate == 2.0
    callback.on_epoch_begin(3)
    assert callback.model.optimizer.learning_rate == pytest.approx(0.2)


def test_a_schedule_needs_a_factor(kinds: SimpleNamespace) -> None:
    with pytest.raises(MoxTypeError, match="needs multiplier="):
        kinds.LearningRateScheduleCallback()
