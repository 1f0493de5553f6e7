"""A loss that is found only as the process ends, and a fork that ends before."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os
import sys
from contextlib import ExitStack
from moxing.cluster.failure import PeerFailureError
from moxing.engine.process import farewell

def wait():
    raise PeerFailureError("worker 1 (h:1) has stood still for 60 s")

stack = ExitStack()
stack.callback(wait)
farewell.at_exit(stack)
if os.fork():
    os.wait()
else:
    sys.exit()
print("done", end="")
"""


UNCAUGHT = """
from moxing.cluster.failure import MissingPeerError, PeerFailureError
from moxing.engine.process import farewell
farewell.say_by_code()
farewell.say_by_code()
try:
    raise PeerFailureError("caught")
except PeerFailureError:
    pass
raise {}
"""


@pytest.mark.parametrize(
    ("error", "code"),
    [("PeerFailureError('lost')", 143), ("MissingPeerError('late')", 143), ("ValueError('x')", 1)],
)
def test_a_loss_that_a_program_does_not_catch_is_said_by_the_code(error: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNCAUGHT.format(error)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code
    assert done.stderr.count("Traceback") == 1


def test_it_is_said_in_a_sentence_and_by_the_code() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        143,
        "done",
        "mox: error: worker 1 (h:1) has stood still for 60 s\n",
    )
