"""Checks that an object store can be reached, written to and deleted from.

`python -m moxing.doctor.store URL` does this in a process of its own, with few retries and a time
limit: the usual retries are meant to outlast a store that is unreachable for a minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Sequence

from moxing.doctor.finding import BAD, GOOD, Finding
from moxing.errors import MoxError
from moxing.framework import file
from moxing.framework.file.urls import parse

_SECONDS = 40.0
_FEW = {"MOX_FILE_RETRY": "2", "MOX_FILE_CLIENT_TIMEOUT": "10"}


def finding(url: str) -> Finding:
    """Writes a small object below a URL, reads it and deletes it again."""
    what = f"directory {url}"
    if not file.is_remote(url):
        return Finding(BAD, what, "no store that mox.file knows: s3:// and obs://")
    # The child has a program's settings from the environment, but with fewer retries.
    command = [sys.executable, "-m", "moxing.doctor.store", url]
    environ = {**os.environ, **_FEW}
    try:
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Finding(BAD, what, f"the store does not answer within {_SECONDS:g} s")
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        return Finding(BAD, what, lines[-1] if lines else f"ended with {done.returncode}")
    return Finding(GOOD, what, "an object could be written, read and deleted")


def main(arguments: Sequence[str]) -> int:
    """Checks the URL; prints an error in one line."""
    (url,) = arguments
    try:
        _try(url)
    except (MoxError, OSError) as error:
        print(" ".join(str(error).split()))
        return 1
    return 0


def _try(url: str) -> None:
    place = str(parse(url).below(f".mox-doctor-{uuid.uuid4().hex}"))
    text = "Written by mox doctor, which deletes it again.\n"
    file.write(place, text)
    if file.read(place) != text:
        raise MoxError(f"{place} does not hold the text that was just written to it")
    try:
        file.remove(place)
    except MoxError as error:
        raise MoxError(
            f"{place} could be written, but not deleted, as old checkpoints must be: {error}"
        ) from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
