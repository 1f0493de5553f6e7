"""Horovod's API for programs that import horovod, implemented with TensorFlow's collectives.

Horovod's last release does not work with the TensorFlow that openmox needs. Under `mox run` and
`mox launch`, a program's `import horovod` finds this package. Without them, a program can write
`import moxing.horovod.tensorflow as hvd`.
"""

from __future__ import annotations

from typing import Any

from moxing.errors import MoxAttributeError, MoxNotSupportedError

# The Horovod release whose API this package has.
__version__ = "0.28.1"

_ELSEWHERE = ("torch", "mxnet", "spark", "ray")


def run(*arguments: Any, **keywords: Any) -> Any:
    """Always raises an error: `mox launch` starts processes instead.

    Raises:
        MoxNotSupportedError: always; the message shows the command.
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
