"""Tells from the name of a variable or a flag whether it holds a secret."""

from __future__ import annotations

import re

_WORDS = {"SECRET", "PASSWORD", "PASSWD", "TOKEN", "CREDENTIAL", "CREDENTIALS", "APIKEY"}
_ENDS = ("ACCESS_KEY", "API_KEY", "PRIVATE_KEY", "ACCOUNT_KEY")
# The value of such a name is the place of a secret, and is no secret.
_PLACES = ("FILE", "PATH", "DIR", "URI", "URL")


def is_secret(name: str) -> bool:
    """Whether a value of this name is likely a secret: `AWS_SECRET_ACCESS_KEY`, `--db-password`."""
    words = [word for word in re.split(r"[_.-]", name.upper()) if word]
    if not words or words[-1] in _PLACES:
        return False
    return bool(_WORDS.intersection(words)) or "_".join(words).endswith(_ENDS)


def has_credentials(value: str) -> bool:
    """Whether a URL in a value holds a name and a password."""
    return re.search(r"://[^/@\s]*:[^/@\s]+@", value) is not None
