"""In every dialect a process whose port is taken says which port of which machine, and by whom."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import warm

PROGRAMS = Path(__file__).parents[1] / "real" / "programs"
RUN = ("-m", "moxing", "run")


@pytest.mark.slow
@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
@pytest.mark.parametrize(
    ("program", "command"),
    [("keras_fit.py", ()), ("run.py", RUN), ("estimator.py", RUN), ("flow_job.py", ())],
)
def test_the_holder_of_a_port_is_named(
    program: str, command: tuple[str, ...], address: str, tmp_path: Path
) -> None:
    """The holder's address may be another one of the machine: TensorFlow's server needs all."""
    with socket.create_server((address, 0)) as holder:
        port = holder.getsockname()[1]
        listed = [f"127.0.0.1:{port}", "127.0.0.1:9"]
        config = {"cluster": {"worker": listed}, "task": {"type": "worker", "index": 0}}
        more = {"TF_CONFIG": json.dumps(config)} if program != "flow_job.py" else {}
        with open(tmp_path / "said", "wb") as said:
            process = warm.Popen(
                [sys.executable, *command, str(PROGRAMS / program), "home", ",".join(listed)],
                cwd=tmp_path,
                stdout=said,
                stderr=subprocess.STDOUT,
                env={**os.environ, **more},
            )
        try:
            assert process.wait(200) not in (0, None)
        finally:
            process.kill()
            process.wait()
    text = (tmp_path / "said").read_text()
    assert (
        f"worker 0 (127.0.0.1:{port}): port {port} of this machine ({socket.gethostname()}) is"
        f" taken by process {os.getpid()} (" in text
    ), text
    assert "Could not start gRPC server" not in text
