"""The base class of openmox's RNN cells, whose `call` AutoGraph does not convert."""

from __future__ import annotations

from typing import Any

from tensorflow.compat.v1.nn import rnn_cell
from tensorflow.python.autograph.impl.api import autograph_artifact

_OURS = __name__.partition(".")[0]


def _keep_python(cls: type) -> None:
    """Keeps AutoGraph from converting a class: it takes a second per cell, and hides errors."""
    call = cls.__dict__.get("call")
    if call is not None and cls.__module__.partition(".")[0] == _OURS:
        # do_not_convert() would hide the signature, which Keras reads.
        autograph_artifact(call)


class Cell(rnn_cell.RNNCell):
    """Base class of openmox's RNN cells."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _keep_python(cls)
