"""Programs print the help of the runtime flags through `mox_flags`."""

from __future__ import annotations

from moxing import flags
from moxing.tensorflow.utils.hyper_param_flags import mox_flags


def test_mox_flags_describe_every_flag() -> None:
    text = mox_flags.get_help()
    for spec in flags.TABLE:
        assert f"--{spec.name}=" in text
        assert spec.help in text


def test_mox_flags_are_the_flags_themselves() -> None:
    mox_flags.set_flag("seed", 11)
    assert flags.get_flag("seed") == 11
