"""Noise goes, everything else stays, byte for byte and in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from moxing import native_noise

NOISE = (
    "WARNING: All log messages before absl::InitializeLog() is called\nI0000 00:00:1 a.cc:1] x\n"
)
PROGRAM = f"""
import os, sys
from moxing import native_noise
with native_noise.dropped():
    os.write(2, {NOISE!r}.encode())
    os.write(2, b"E0000 00:00:1 out of memory\\n")
    print("from Python", file=sys.stderr)
    if len(sys.argv) > 1:
        raise ValueError("inside")
os.write(2, b"after\\n")
"""


def run(*arguments: str, debug: str = "") -> str:
    environment = {**os.environ, "MOX_DEBUG": debug}
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    return done.stderr


def test_only_noise_is_dropped() -> None:
    assert run() == "E0000 00:00:1 out of memory\nfrom Python\nafter\n"


def test_an_error_inside_loses_nothing() -> None:
    shown = run("fail")
    assert shown.startswith("E0000 00:00:1 out of memory\nfrom Python\n")
    assert shown.endswith("ValueError: inside\n")


@pytest.mark.parametrize("debug", ["1"])
def test_debugging_shows_all(debug: str) -> None:
    assert NOISE in run(debug=debug)


BROKEN_STEP = b"""\
INFO:tensorflow:Saving checkpoints for 10 into log/model.ckpt.
E0000 00:00:1795850610.078136   19865 ring_alg.cc:291] Aborting RingGather with UNAVAILABLE: reset
Additional GRPC error information from remote target /job:worker/replica:0/task:1 while calling x:
:UNKNOWN:Error received from peer  {grpc_status:14, grpc_message:"recvmsg:Connection reset by peer"}
W0000 00:00:1795850610.078501   19990 local_rendezvous.cc:412] Local rendezvous is aborting with \
status: UNAVAILABLE: Collective ops is aborted by: recvmsg:Connection reset by peer
The error could be from a previous operation. Restart your program to reset.
\t [[{{node mean_gradients/CollectiveGatherV2}}]] [type.googleapis.com/tensorflow.DerivedStatus='']
E0000 00:00:1795985139.038717   30776 master_session.cc:1972] Cleanup partition error: \
UNAVAILABLE: recvmsg:Connection reset by peer
ERROR:tensorflow:worker 1 (127.0.0.1:40381) died: connection lost
E0000 00:00:1795850610.078136   19865 bfc_allocator.cc:1] ran out of memory
Additional GRPC error information from remote target /job:worker/replica:0/task:1 while calling x:
tensorflow.python.framework.errors_impl.UnavailableError: From /job:worker/replica:0/task:0:
The error could be from a previous operation. Restart your program to reset.
\t [[{{node mean_gradients/CollectiveGatherV2}}]]
"""


def test_what_a_broken_step_raises_anyhow_is_noise_and_the_error_is_not() -> None:
    sieve = native_noise.Sieve()
    lines = BROKEN_STEP.splitlines()
    assert [line for line in lines if not sieve.is_noise(line)] == [lines[0], *lines[8:]]


def test_threads_that_hold_it_back_at_once_give_it_back(tmp_path: Path) -> None:
    kept = os.dup(2)
    file = os.open(tmp_path / "stderr", os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 2)
    inside, outer_is_done = threading.Event(), threading.Event()

    def inner() -> None:
        with native_noise.dropped():
            inside.set()
            outer_is_done.wait(10)

    thread = threading.Thread(target=inner)
    try:
        with native_noise.dropped():
            thread.start()
            assert inside.wait(10)
        outer_is_done.set()
        thread.join()
        os.write(2, b"afterwards\n")
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(file)

    assert (tmp_path / "stderr").read_bytes() == b"afterwards\n"


NATIVE = f"""
import ctypes, os, sys
from moxing import native_noise
native_noise.drop_from_now_on()
native_noise.drop_from_now_on()
libc = ctypes.CDLL(None)
libc.fputs.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
stream = ctypes.c_void_p.in_dll(libc, "stderr")
libc.fputs({BROKEN_STEP!r}, stream)
libc.fputs(b"the end is cut o", stream)
os.write(2, b"from Python\\n")
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    os.kill(os.getpid(), {int(signal.SIGKILL)})
"""


@pytest.mark.parametrize(
    ("told", "dropped"),
    [({}, True), ({"MOX_DEBUG": "1"}, False), ({native_noise.SIFTED: "1"}, False)],
)
def test_lines_at_any_time_are_dropped_and_the_last_words_of_a_process_stay(
    told: dict[str, str], dropped: bool
) -> None:
    """The process that drops them is no child for which a program would wait."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MOX_DEBUG", "MOX_SIFTED")}
    done = subprocess.run(
        [sys.executable, "-c", NATIVE],
        capture_output=True,
        timeout=120,
        env={**environment, **told},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    said = done.stderr.replace(b"from Python\n", b"", 1).splitlines()
    broken = BROKEN_STEP.splitlines()
    kept = [broken[0], *broken[8:]] if dropped else broken
    assert said == [*kept, b"the end is cut o"]


CLOSES = f"""
import ctypes, os, sys
from moxing import native_noise
native_noise.drop_from_now_on()
os.closerange(3, 1 << 16)
files = [open("file%d" % number, "wb") for number in range(20)]
libc = ctypes.CDLL(None)
libc.fputs.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
libc.fputs({BROKEN_STEP!r}, ctypes.c_void_p.in_dll(libc, "stderr"))
print("went on", sum(os.path.getsize(file.name) for file in files))
"""


def test_native_code_writes_into_no_file_of_a_program_that_closes_all_descriptors(
    tmp_path: Path,
) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("MOX_DEBUG", "MOX_SIFTED")}
    done = subprocess.run(
        [sys.executable, "-c", CLOSES],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "went on 0\n"), done.stderr


SERVER = """
import os, sys
import moxing.tensorflow
from moxing.cluster.cluster import Cluster
from moxing.cluster.serve import start_server
from moxing.launch.ports import free_ports
server = start_server(Cluster(tuple(f"127.0.0.1:{port}" for port in free_ports(2))))
print("served", os.environ["TF_CPP_MIN_LOG_LEVEL"], flush=True)
os._exit(0)
"""


@pytest.mark.slow
def test_a_server_of_a_cluster_says_nothing_under_plain_python() -> None:
    """Warnings of native code, as of each step that it ends, are not for users; errors are."""
    environment = {k: v for k, v in os.environ.items() if k not in ("TF_CPP_MIN_LOG_LEVEL", "CI")}
    done = subprocess.run(
        [sys.executable, "-c", SERVER],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("served 2\n", "")
