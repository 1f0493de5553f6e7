"""Reads the command that started the program, for the records of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from moxing.flags import program_flags
from moxing.framework.secret_names import has_credentials, is_secret


def recorded() -> dict[str, Any]:
    """Returns the program of this process, as plain values.

    Returns:
        `script`, the program's path; or `module`, its dotted name; `directory`, the current folder;
        `arguments`; `flags`, the values of the program's own flags, also those at their defaults;
        and `left_out`, the names of arguments that look like secrets.
    """
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    arguments, left_out = _without_secrets(sys.argv[1:])
    named = {"module": spec.name} if spec is not None else {"script": _path(sys.argv[:1])}
    found: dict[str, Any] = {**named, "directory": os.getcwd(), "arguments": arguments}
    found["flags"] = program_flags.effective()
    return {**found, "left_out": left_out} if left_out else found


def _path(first: Sequence[str]) -> str:
    return os.path.abspath(first[0]) if first and first[0] else ""


def _without_secrets(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    kept: list[str] = []
    left_out: list[str] = []
    secret = False  # Whether the previous word was the name of a secret, whose value comes next.
    for word in arguments:
        name, equals, value = word.partition("=")
        if word.startswith("-") and is_secret(name):
            left_out.append(name)
            secret = not equals
        elif secret and not word.startswith("-"):
            secret = False
        elif has_credentials(value if equals else word):
            left_out.append(name if equals else "a URL with a password")
            secret = False
        else:
            kept.append(word)
            secret = False
    return kept, left_out
