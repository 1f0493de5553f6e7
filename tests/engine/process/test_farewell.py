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


# As TensorFlow makes an error from one that Python code of a graph raised.
WITHIN_A_GRAPH = """
class UnknownError(Exception):
    node_def = None

raise UnknownError("moxing.cluster.failure.PeerFailureError: worker 1 is lost\\nTraceback")
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("raise PeerFailureError('worker 1 is lost')", 143),
        (WITHIN_A_GRAPH, 143),
        ("raise ValueError", 1),
        ("", 0),
    ],
)
def test_plain_python_ends_with_the_code_of_a_loss_that_nobody_caught(end: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNCAUGHT.format(end=end)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (code, "caught\n")


LEAVES = """
import sys
from contextlib import contextmanager, ExitStack
from moxing.engine.process import farewell

@contextmanager
def job():
    try:
        yield
    except BaseException as error:
        print("failed:", repr(error))
        raise
    print("finished")

stack = ExitStack()
stack.enter_context(job())
farewell.at_exit(stack)
{end}
"""


@pytest.mark.parametrize(
    ("end", "told", "code"),
    [
        ("raise ValueError('mine')", "failed: ValueError('mine')", 1),
        ("", "finished", 0),
        ("sys.last_value = SystemExit(3); sys.exit(3)", "failed: SystemExit(3)", 3),
        ("sys.last_value = SystemExit(0); sys.exit(0)", "finished", 0),
        ("sys.last_value = SystemExit(143); sys.exit(143)", "finished", 143),
    ],
)
def test_the_others_are_told_of_the_error_that_ends_the_program(
    end: str, told: str, code: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVES.format(end=end)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (code, told + "\n")
