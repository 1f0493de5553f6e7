"""Flags say what happens to gradients; MoXing's own names mean the same as openmox's."""

from __future__ import annotations

import pytest

from moxing import flags
from moxing.engine.job.updating import Updating
from moxing.errors import MoxNotSupportedError, MoxValueError
from moxing.flags.updating import updating


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, Updating()),
        ({"gradient_clip_norm": 2.5}, Updating(clip_norm=2.5)),
        ({"gradient_clip_value": 1}, Updating(clip_value=1.0)),
        ({"gradient_clip": 5.0}, Updating(clip_norm=5.0)),
        ({"gradient_clip": "0.5", "gradient_clip_type": "value"}, Updating(clip_value=0.5)),
        ({"gradient_clip": 5.0, "gradient_clip_norm": 5.0}, Updating(clip_norm=5.0)),
        ({"gradient_clip": 5.0, "gradient_clip_value": 1.0}, Updating(5.0, 1.0)),
    ],
)
def test_flags(given: dict[str, object], wanted: Updating) -> None:
    with flags.overridden(**given):
        assert updating() == wanted


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["gradient_clip_norm", "gradient_clip_value", "gradient_clip"])
def test_limits_are_above_zero(name: str, value: float) -> None:
    with (
        flags.overridden(**{name: value}),
        pytest.raises(MoxValueError, match=rf"--{name}=.*: it must be a finite number above 0"),
    ):
        updating()


def test_two_limits_of_one_kind_are_refused() -> None:
    with (
        flags.overridden(gradient_clip=1.0, gradient_clip_norm=2.0),
        pytest.raises(MoxValueError, match="--gradient_clip=1 and --gradient_clip_norm=2"),
    ):
        updating()


def test_an_unknown_type_is_refused() -> None:
    with (
        flags.overridden(gradient_clip_type="median"),
        pytest.raises(MoxNotSupportedError, match="It is one of norm, value"),
    ):
        flags.check_supported()
