"""Names options in messages as the face that the user called names them.

The engine uses the names of `mox.run`. Another dialect gives its names in `Logging.names`; while
the run lasts, messages of the thread that runs the job use these names, and so do the threads that
it starts with `carried` functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

# The names that a dialect may give; "limit" has the place of a number of steps in it. An empty one
# says that the face has no such option.
_ENGINES = {
    "log_dir": "log_dir",
    "max_number_of_steps": "max_number_of_steps",
    "limit": "max_number_of_steps {}",
    "input_fn": "input_fn",
    "model_fn": "model_fn",
    "checkpoint_path": "checkpoint_path",
    "--checkpoint_path": "--checkpoint_path",
    "--loss_scale": "--loss_scale or --dynamic_loss_scale",
    "--num_gpus": "--num_gpus",
    "--seed": "--seed",
    "--accumulate_steps": "--accumulate_steps",
    "--checkpoint_exclude_patterns": "--checkpoint_exclude_patterns",
    "servers": "--variable_update=parameter_server or --sync_replicas=false",
    "ps_hosts": "--ps_hosts=host:port,...",
    "one set": "Use --variable_update=parameter_server, which keeps one set",
}
_spoken: ContextVar[Mapping[str, str]] = ContextVar("names of options", default=_ENGINES)


@contextmanager
def spoken(names: Mapping[str, str]) -> Iterator[None]:
    """In the block, messages use these names; other options keep the engine's names.

    Args:
        names: the dialect's names, by the engine's names.

    Raises:
        KeyError: no message of the engine names such an option.
    """
    for name in names:
        _ENGINES[name]
    token = _spoken.set({**_ENGINES, **names})
    try:
        yield
    finally:
        _spoken.reset(token)


def carried(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Returns the function for a thread of its own, in which messages keep this thread's names.

    A new thread would use the engine's names.
    """
    return functools.partial(copy_context().run, function)


def option(name: str) -> str:
    """Returns the name of an option for messages, given the engine's name; "" if there is none."""
    return _spoken.get()[name]


def limit(steps: int) -> str:
    """`max_number_of_steps 65`: the option that says where training ends, with its value."""
    return _spoken.get()["limit"].format(steps)
