"""Copies to and from an S3 server beside `aws s3 cp --recursive`, with the same concurrency.

Starts moto's server on loopback. Then, alternating, each in a process of its own,

- openmox: `mox.file.copy_parallel(src, dst, threads=16)`,
- aws: `aws s3 cp --recursive` with `max_concurrent_requests = 16`, from a virtual environment
  that is made for this run and thrown away (or the command given with --aws),

copy 2,000 small files up and down, and one large file up and down, both without the checksums
that S3 made optional in 2025 and most compatible stores do not know (the signature covers the
data). What arrived is compared byte for byte. Prints the median seconds of each, the start of the
process included, and how many times as fast openmox is.

    python benchmarks/object_store.py [--repeats N] [--files N] [--megabytes N] [--aws COMMAND]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

CONCURRENCY = 16
SMALL = 16 * 1024
BUCKET = "benchmark"
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
OPENMOX = """
import sys
from moxing.framework import file
file.copy_parallel(sys.argv[1], sys.argv[2], threads=int(sys.argv[3]))
"""


@contextmanager
def server() -> Iterator[str]:
    """URL of an S3 server with one empty bucket."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        url = f"http://127.0.0.1:{process.stdout.readline().strip()}"
        os.environ["S3_ENDPOINT"] = url
        empty(url)
        yield url
    finally:
        process.stdin.close()
        process.wait(30)


def empty(url: str) -> None:
    """Makes the bucket anew, so that the server's memory holds one copy at a time."""
    for method, path in (("POST", "/moto-api/reset"), ("PUT", f"/{BUCKET}")):
        request = urllib.request.Request(url + path, method=method)
        urllib.request.urlopen(request, timeout=60).close()


def aws_command(given: str | None, work: Path) -> str:
    """The command given, or one that is installed for this run."""
    if given:
        return given
    print("installing awscli into a virtual environment of its own ...", flush=True)
    home = work / "venv"
    venv.create(home, with_pip=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "awscli"]
    subprocess.run(pip, check=True, timeout=600)
    return str(home / "bin" / "aws")


def digest(path: Path) -> str:
    """Names and bytes of all that is below `path`."""
    found = hashlib.sha256()
    for file in sorted(item for item in path.rglob("*") if item.is_file()):
        found.update(str(file.relative_to(path)).encode())
        with open(file, "rb") as data:
            found.update(hashlib.file_digest(data, "sha256").digest())
    return found.hexdigest()


def make(path: Path, files: int, size: int) -> None:
    """`files` files of `size` random bytes, in directories of 100."""
    chance = random.Random(0)
    for number in range(files):
        target = path / f"{number // 100:03}" / f"{number:06}"
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "wb") as out:
            for start in range(0, size, 1 << 20):
                out.write(chance.randbytes(min(1 << 20, size - start)))


def timed(command: list[str], environment: dict[str, str]) -> float:
    """Seconds that a command takes, its start included."""
    began = time.perf_counter()
    subprocess.run(command, check=True, env=environment, timeout=1800, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def copiers(aws: str, endpoint: str, work: Path) -> dict[str, Callable[[str, str], float]]:
    """What to compare, by name."""
    config = work / "aws-config"
    config.write_text(f"[default]\ns3 =\n  max_concurrent_requests = {CONCURRENCY}\n")
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    plain = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    for_aws = {**plain, **keys, "AWS_CONFIG_FILE": str(config), "AWS_DEFAULT_REGION": "us-east-1"}
    # Without it the two would ask for different things: moto joins all parts twice for an upload
    # that names no checksum, which takes it longer than the whole transfer of 1 GiB.
    for_aws["AWS_REQUEST_CHECKSUM_CALCULATION"] = "when_required"
    for_aws["AWS_RESPONSE_CHECKSUM_VALIDATION"] = "when_required"
    call = [aws, "--endpoint-url", endpoint, "s3", "cp", "--recursive", "--quiet"]
    ours = [sys.executable, "-c", OPENMOX]
    return {
        "openmox": lambda src, dst: timed([*ours, src, dst, str(CONCURRENCY)], {**plain, **keys}),
        "aws": lambda src, dst: timed([*call, src, dst], for_aws),
    }


def compare(
    what: str,
    source: Path,
    endpoint: str,
    work: Path,
    repeats: int,
    named: dict[str, Callable[[str, str], float]],
) -> None:
    """Copies `source` up and down with each of `named` and prints a line for each way."""
    expected = digest(source)
    up: dict[str, list[float]] = {name: [] for name in named}
    down: dict[str, list[float]] = {name: [] for name in named}
    for turn in range(repeats):
        # Whoever goes first in one round goes last in the next.
        order = list(named) if turn % 2 == 0 else list(named)[::-1]
        for name in order:
            empty(endpoint)
            back = work / "back"
            up[name].append(named[name](str(source), f"s3://{BUCKET}/data"))
            down[name].append(named[name](f"s3://{BUCKET}/data", str(back)))
            assert digest(back) == expected, f"{name} did not bring back what was sent"
            shutil.rmtree(back)
    for way, seconds in (("up", up), ("down", down)):
        ours, theirs = (statistics.median(seconds[name]) for name in ("openmox", "aws"))
        spread = " ".join(
            f"{name} {min(taken):.2f}-{max(taken):.2f}" for name, taken in seconds.items()
        )
        print(
            f"{what:>22} {way:>4}: openmox {ours:7.2f} s  aws {theirs:7.2f} s  "
            f"{theirs / ours:5.2f} times as fast  ({spread})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--aws", help="an aws command to use instead of a fresh one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mox-benchmark-") as name, server() as endpoint:
        work = Path(name)
        named = copiers(aws_command(options.aws, work), endpoint, work)
        small, large = work / "small", work / "large"
        make(small, options.files, SMALL)
        make(large, 1, options.megabytes << 20)
        cores = len(os.sched_getaffinity(0))
        print(f"{cores} cores, {CONCURRENCY} requests at a time, median of {options.repeats}")
        label = f"{options.files} x {SMALL >> 10} KiB"
        compare(label, small, endpoint, work, options.repeats, named)
        compare(f"1 x {options.megabytes} MiB", large, endpoint, work, options.repeats, named)


if __name__ == "__main__":
    main()
