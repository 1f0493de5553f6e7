"""Layouts of blobs and variables on several devices."""

from __future__ import annotations

from dataclasses import dataclass

from moxing.errors import MoxValueError, shown


@dataclass(frozen=True)
class Distribute:
    """A layout: `split` along an axis, `broadcast`, or `auto`."""

    kind: str
    axis: int | None = None

    def __enter__(self) -> Distribute:
        """Strategies may be opened as blocks; inside, devices share samples as outside."""
        return self

    def __exit__(self, *_: object) -> None:
        """Does nothing, since `__enter__` opens nothing."""


def split(axis: int) -> Distribute:
    """Parts along `axis`, from 0 to 10.

    Raises:
        MoxValueError: another axis.
    """
    if type(axis) is not int or not 0 <= axis <= 10:
        raise MoxValueError(f"flow.distribute.split({shown(axis)}): the axis is 0 to 10.")
    return Distribute("split", axis)


def broadcast() -> Distribute:
    """The whole on each device."""
    return Distribute("broadcast")
