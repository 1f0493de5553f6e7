"""`flow.distribute`: layouts of blobs and variables on several devices."""

from __future__ import annotations

from moxing.errors import MoxTypeError, shown
from moxing.flow import absent
from moxing.flow.trace.layouts import Distribute
from moxing.flow.trace.layouts import broadcast as broadcast
from moxing.flow.trace.layouts import split as split


def auto() -> Distribute:
    """The layout that suits the operation."""
    return Distribute("auto")


def consistent_strategy() -> Distribute:
    """One logical view of each blob."""
    return Distribute("consistent")


def assert_is_valid_distribute(distribute: object) -> None:
    """Raises an error if the value is no layout.

    Raises:
        MoxTypeError: the value is no layout.
    """
    if not isinstance(distribute, Distribute):
        raise MoxTypeError(
            f"{shown(distribute)} is no layout: use flow.distribute.split(axis), broadcast() or"
            " auto()."
        )


def consistent_strategy_enabled() -> bool:
    """True: blobs are one logical view, unless an input is mirrored."""
    return True


def mirrored_strategy_enabled() -> bool:
    """False: inputs are mirrored one by one, with `flow.MirroredTensorDef`."""
    return False


def mirrored_strategy() -> Distribute:
    """A tensor of its own on each device."""
    return Distribute("mirrored")


__getattr__, __dir__ = absent.of("flow.distribute", globals())
