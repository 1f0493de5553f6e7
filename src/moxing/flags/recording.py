"""Reads from flags which facts a run records."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from moxing import flags
from moxing.errors import MoxValueError, near_matches, shown

# The environment variable that `mox run --log-also` sets, and the values that it may name.
LOG_ALSO: Final = "MOX_LOG_ALSO"
ADDABLE: Final = ("learning_rate", "gradient_norm")
# The variable that `mox run --loggers` sets.
LOGGERS: Final = "MOX_LOGGERS"
TENSORBOARD: Final = "tensorboard"
TRACKERS: Final = ("wandb", "mlflow")
_silent: list[bool] = []
_STEPS = re.compile(r"\s*(\d{1,18})\s*:\s*(\d{1,18})\s*")


def profile_steps(text: str | None, log_dir: str | None) -> tuple[int, int] | None:
    """Returns the first step to profile, and the first step after the profile.

    Args:
        text: value of --profile_steps; None or empty for no profile.
        log_dir: the run's log_dir.

    Raises:
        MoxValueError: the text names no steps, or there is no directory for the profile.
    """
    if not text:
        return None
    found = _STEPS.fullmatch(text)
    first, end = (int(found[1]), int(found[2])) if found else (0, 0)
    if end <= first:
        raise MoxValueError(
            f"--profile_steps={shown(text, plain=True)}: it must be N:M with N below M, such as"
            " 20:30 for ten steps."
        )
    if log_dir is None:
        raise MoxValueError(
            "--profile_steps is given, but there is no log_dir to write the profile to: pass"
            " log_dir."
        )
    return first, end


def also() -> tuple[str, ...]:
    """Returns the names of the values that MOX_LOG_ALSO adds to the log lines of a training.

    Raises:
        MoxValueError: there is no such value.
    """
    return _listed(LOG_ALSO, "--log-also", ADDABLE)


def loggers() -> tuple[str, ...]:
    """Returns the experiment trackers that MOX_LOGGERS names.

    TensorBoard may be named too: its files are written anyway.

    Raises:
        MoxValueError: there is no such tracker, or it is not installed.
    """
    if _silent:
        return ()
    names = _listed(LOGGERS, "--loggers", (TENSORBOARD, *TRACKERS))
    found = tuple(name for name in names if name != TENSORBOARD)
    for name in found:
        if not is_installed(name):
            raise MoxValueError(
                f"{LOGGERS} (mox run --loggers) names {name}, which is not installed here: `pip"
                f" install {name}`, or leave it out."
            )
    return found


@contextmanager
def without_loggers() -> Iterator[None]:
    """In the block, trainings report to no tracker."""
    _silent.append(True)
    try:
        yield
    finally:
        _silent.pop()


def is_installed(name: str) -> bool:
    """Whether Python finds a package."""
    return importlib.util.find_spec(name) is not None


def _listed(variable: str, option: str, legal: Sequence[str]) -> tuple[str, ...]:
    names = [name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()]
    for name in names:
        if name not in legal:
            raise MoxValueError(
                f"{variable} (mox run {option}) names {shown(name)}.{near_matches(name, legal)}"
                f" It is a list, with commas, of: {', '.join(legal)}."
            )
    return tuple(dict.fromkeys(names))


def settings() -> dict[str, Any]:
    """Returns the runtime flags that are not at their defaults."""
    values = {spec.name: (flags.get_flag(spec.name), spec.default) for spec in flags.TABLE}
    return {f"--{name}": value for name, (value, default) in values.items() if value != default}
