"""Where a run computes, from flags and the environment."""

from __future__ import annotations

import os

import pytest

from moxing.tensorflow import flags
from moxing.tensorflow.executor.placement import placement


@pytest.mark.parametrize(
    ("update", "copied", "trial"),
    [
        (None, None, False),
        ("parameter_server", False, False),
        ("replicated", True, False),
        ("auto", None, True),
    ],
)
def test_where_variables_live(update: str | None, copied: bool | None, trial: bool) -> None:
    with flags.overridden(variable_update=update, num_gpus=2):
        placed = placement()
    assert (placed["copied"], placed["trial"], placed["on_servers"]) == (copied, trial, False)


@pytest.mark.parametrize(
    ("num_gpus", "devices", "hidden"), [(0, 1, "-1"), (1, 1, "0"), (2, 2, "0")]
)
def test_no_gpu_is_one_device_that_is_a_cpu(
    monkeypatch: pytest.MonkeyPatch, num_gpus: int, devices: int, hidden: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with flags.overridden(num_gpus=num_gpus):
        assert placement()["devices"] == devices
    assert os.environ["CUDA_VISIBLE_DEVICES"] == hidden


@pytest.mark.parametrize("first", [True, False])
def test_whose_values_are_logged(first: bool) -> None:
    with flags.overridden(log_first_clone=first):
        assert placement()["log_first"] is first


def test_gradients_travel_as_16_bits_where_asked() -> None:
    assert placement()["compressed"] is False
    with flags.overridden(compress_gradients=True):
        assert placement()["compressed"] is True
