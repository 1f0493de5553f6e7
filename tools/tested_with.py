"""Writes docs/reference/tested-with.md: outside systems that tests use, and their versions here.

    make tested-with

Runs beside what tools/two_hosts.py, ceph_gateway.py, chromium.py and image_base.py bring up, which
tell their versions.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "tested-with.md"
WORLD = "MOX_TWO_HOSTS"
# Versions that other tools tell, and what ends the part of them that the page shows.
TOLD = {
    "s3": ("MOX_S3_VERSION", " ("),
    "browser": ("MOX_BROWSER", " built"),
    "images": ("MOX_BUILDAH_VERSION", " ("),
}
INTRODUCTION = """\
# Tested with

The systems outside of openmox that its tests use, with the versions of the last `make tested-with`,
which wrote this page. `make test-real` runs the daemons, and `make test` the rest.

| system | version | used as | shown by |
|---|---|---|---|
"""
END = """
Not among them: TensorFlow Serving itself, OBS and other S3 servers, a cluster of Kubernetes, and
machines with GPUs. For these stand TensorFlow Serving's published messages, moto and Ceph, the
published schemas of Kubernetes, and logical devices.
"""
# System, the package that tells its version, use, and the test.
PACKAGES = (
    ("TensorFlow", "tensorflow", "the engine of every run", "tests/engine/run"),
    ("Keras 3", "keras", "the models of `moxing.keras.fit`", "tests/keras/test_equality.py"),
    ("tf_keras", "tf-keras", "the Keras of old programs", "tests/legacy/keras"),
    ("S3", "moto", "moto's server, over HTTP", "tests/framework/file/store"),
    (
        "TensorFlow Serving's messages",
        "tensorflow-serving-api",
        "a client of an export over gRPC",
        "tests/engine/export/test_served_grpc.py",
    ),
    (
        "Kubernetes' schemas",
        "kubernetes-validate",
        "a check of emitted manifests",
        "tests/launch/kubernetes",
    ),
    ("IPython", "ipython", "the shell of notebooks", "tests/legacy/program/test_notebook.py"),
    ("ONNX Runtime", "onnxruntime", "a reader of exports", "tests/engine/export/test_kinds.py"),
    ("safetensors", "safetensors", "a form of checkpoints", "tests/runs/checkpoints"),
)
DAEMONS = (
    ("Slurm", "slurm", "jobs of `--emit=slurm` on two nodes", "tests/real/test_slurm.py"),
    ("OpenSSH", "ssh", "`mox launch --ssh` over two machines", "tests/real/test_ssh.py"),
    (
        "slirp4netns",
        "slirp4netns",
        "the way out of a job's own network",
        "tests/real/test_isolation.py",
    ),
    ("Chromium", "browser", "a reader of all pages, at two widths", "tests/browser"),
    ("buildah", "images", "both Dockerfiles built, on Debian 12", "tests/docker/built"),
    ("Ceph", "s3", "a store, through its S3 gateway", "tests/framework/file"),
)


def rows(world: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """The lines of the table: system, version, use, test."""
    yield "Python", platform.python_version(), "the language", "tests"
    for system, package, use, test in PACKAGES:
        yield system, metadata.version(package), use, test
    for system, key, use, test in DAEMONS:
        yield system, world[key].partition(",")[0], use, test


def page(world: dict[str, str]) -> str:
    """The text of the page."""
    lines = (f"| {system} | {v} | {use} | `{test}` |\n" for system, v, use, test in rows(world))
    return INTRODUCTION + "".join(lines) + END


def main() -> int:
    if not {WORLD, *(variable for variable, _ in TOLD.values())} <= os.environ.keys():
        print("Run `make tested-with`: the page tells which daemons ran.", file=sys.stderr)
        return 2
    world = json.loads(Path(os.environ[WORLD]).read_text())
    world |= {key: os.environ[name].partition(end)[0] for key, (name, end) in TOLD.items()}
    PAGE.write_text(page(world), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
