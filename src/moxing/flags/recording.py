"""Reads from flags which facts a run records."""

from __future__ import annotations

import os
import re
from typing import Any, Final

from moxing import flags
from moxing.errors import MoxValueError, near_matches, shown

# The environment variable that `mox run --log-also` sets, and the values that it may name.
LOG_ALSO: Final = "MOX_LOG_ALSO"
ADDABLE: Final = ("learning_rate", "gradient_norm")
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
    """Returns what MOX_LOG_ALSO adds to the log lines of a training.

    Raises:
        MoxValueError: there is no such value.
    """
    names = [name.strip() for name in os.environ.get(LOG_ALSO, "").split(",") if name.strip()]
    for name in names:
        if name not in ADDABLE:
            raise MoxValueError(
                f"{LOG_ALSO} (mox run --log-also) names {shown(name)}."
                f"{near_matches(name, ADDABLE)} It is a list, with commas, of:"
                f" {', '.join(ADDABLE)}."
            )
    return tuple(dict.fromkeys(names))


def settings() -> dict[str, Any]:
    """Returns the runtime flags that are not at their defaults."""
    values = {spec.name: (flags.get_flag(spec.name), spec.default) for spec in flags.TABLE}
    return {f"--{name}": value for name, (value, default) in values.items() if value != default}
