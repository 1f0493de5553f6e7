"""Horovod's face: programs that import horovod run over TensorFlow's collectives.

Horovod's last release does not work with the TensorFlow that openmox needs. `mox run` and
`mox launch` show a program this package as `horovod`; written out it is
`import moxing.horovod.tensorflow as hvd`.
"""

from __future__ import annotations

from typing import Any

from moxing.errors import MoxAttributeError, MoxNotSupportedError

# The release whose API this is.
__version__ = "0.28.1"

_ELSEWHERE = ("torch", "mxnet", "spark", "ray")


def run(*arguments: Any, **keywords: Any) -> Any:
    """Not here: starting processes is the launcher's part.

    Raises:
        MoxNotSupportedError: always, with the command.
    """
    del arguments, keywords
    raise MoxNotSupportedError(
        "horovod.run starts processes from within a program. Put the function into a program and"
        " start that: mox launch --workers=N train.py"
    )


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        raise MoxAttributeError(
            f"horovod.{name} is not here: openmox has horovod.tensorflow, horovod.keras and"
            " horovod.tensorflow.keras.",
            name=name,
        )
    raise AttributeError(f"module 'horovod' has no attribute {name!r}")
