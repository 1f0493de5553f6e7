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


def test_it_is_said_in_a_sentence_and_by_the_code() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        143,
        "done",
        "mox: error: worker 1 (h:1) has stood still for 60 s\n",
    )


UNCAUGHT = """
from contextlib import ExitStack
from moxing.cluster.failure import PeerFailureError
from moxing.engine.process import farewell

farewell.at_exit(ExitStack())
try:
    raise PeerFailureError("of a run that the program did without")
except PeerFailureError:
    print("caught")
{end}
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [("raise PeerFailureError('worker 1 is lost')", 143), ("raise ValueError", 1), ("", 0)],
)
def test_plain_python_ends_with_the_code_of_a_loss_that_nobody_caught(end: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNCAUGHT.format(end=end)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (code, "caught\n")
