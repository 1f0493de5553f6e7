"""Makes a virtual environment with pip in it, also where Debian's python3-venv is not installed."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
import venv
from pathlib import Path

INDEX = "https://pypi.org/simple"
TIMEOUT_SECONDS = 60


def newest_pip(index: str) -> tuple[str, str]:
    """The address of the newest released pip wheel of a package index, and its SHA-256 digest."""
    request = urllib.request.Request(
        index.rstrip("/") + "/pip/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
        files = json.load(answer)["files"]
        base = answer.url
    wheels = [
        (tuple(int(part) for part in found[1].split(".")), item)
        for item in files
        if (found := re.fullmatch(r"pip-([0-9.]+)-py3-none-any\.whl", item["filename"]))
        and not item.get("yanked")
    ]
    _, wheel = max(wheels, key=lambda pair: pair[0])
    return urllib.parse.urljoin(base, wheel["url"]), wheel["hashes"]["sha256"]


def install_pip(python: Path, index: str) -> None:
    """Installs pip into an environment without it, by running pip out of its own wheel.

    Raises OSError, ValueError or KeyError where the index can't be read, and CalledProcessError
    where pip itself fails.
    """
    address, digest = newest_pip(index)
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(folder, address.rsplit("/", 1)[-1])
        with urllib.request.urlopen(address, timeout=TIMEOUT_SECONDS) as answer:
            wheel.write_bytes(answer.read())
        if hashlib.sha256(wheel.read_bytes()).hexdigest() != digest:
            raise ValueError(f"{address} does not have the digest that the index gives for it")
        pip = [str(python), f"{wheel}/pip", "install", "--quiet", "--no-index", str(wheel)]
        subprocess.run(pip, check=True)


def main() -> None:
    folder = Path(sys.argv[1])
    has_pip = importlib.util.find_spec("ensurepip") is not None
    venv.create(folder, with_pip=has_pip, symlinks=True, clear=True)
    if has_pip:
        return
    index = os.environ.get("PIP_INDEX_URL", INDEX)
    try:
        install_pip(folder / "bin" / "python", index)
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        sys.exit(
            f"This Python has no ensurepip, and pip could not be had from {index} ({error}). "
            f"Install it with `apt-get install python{version}-venv`, then call make again."
        )


if __name__ == "__main__":
    main()
