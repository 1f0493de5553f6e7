"""`flow.regularizers`: penalties of single variables."""

from __future__ import annotations

from dataclasses import dataclass

from moxing.flow import absent


@dataclass(frozen=True)
class Regularizer:
    """The gradient gets `l1 sign(w) + l2 w`."""

    l1: float = 0.0
    l2: float = 0.0


def l1(l: float = 0.01) -> Regularizer:  # noqa: E741
    """The penalty of absolute values."""
    return Regularizer(l1=l)


def l2(l: float = 0.01) -> Regularizer:  # noqa: E741
    """The penalty of squares."""
    return Regularizer(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> Regularizer:
    """The penalty of absolute values and of squares."""
    return Regularizer(l1, l2)


__getattr__, __dir__ = absent.of("flow.regularizers", globals())
