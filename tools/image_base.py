"""A builder of container images, and a Debian with Python as their base, while a command runs.

    python tools/image_base.py [--install] [--limit=SECONDS] [--optional] COMMAND [ARGUMENT ...]

buildah builds without a daemon, in a chroot; debootstrap makes the base from Debian's packages. The
command finds the words of buildah, with its options, in MOX_BUILDAH, and an image named `base` in
its store. tools/fence.py says what the options mean and what is returned.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import fence
from fence import run

PROGRAMS = {"buildah": "buildah", "debootstrap": "debootstrap"}
RELEASE = "bookworm"
PACKAGES = "ca-certificates,python-is-python3,python3,python3-pip,python3-venv"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
SECONDS = 600  # For the base, whose packages are downloaded.


def bring_up(folder: Path) -> dict[str, str]:
    """Makes the base; returns where a command finds it."""
    store = ["--root", str(folder / "store"), "--runroot", str(folder / "run")]
    buildah = ["buildah", *store, "--storage-driver", "vfs"]
    container = run(*buildah, "from", "scratch")
    root = Path(run(*buildah, "mount", container))
    run(
        "debootstrap",
        "--variant=minbase",
        f"--include={PACKAGES}",
        RELEASE,
        str(root),
        seconds=SECONDS,
    )
    # The base reaches package registries as this machine does, and trusts those that it trusts.
    shutil.copy(f"/{CERTIFICATES}", root / CERTIFICATES)
    (root / "etc/pip.conf").write_text(f"[global]\ncert = /{CERTIFICATES}\n")
    shutil.rmtree(root / "var/cache/apt/archives", ignore_errors=True)
    run(*buildah, "umount", container)
    run(*buildah, "commit", "--rm", container, "base", seconds=SECONDS)
    return {"MOX_BUILDAH": shlex.join(buildah), "MOX_BUILDAH_VERSION": run("buildah", "--version")}


if __name__ == "__main__":
    world = fence.World("builder of images", PROGRAMS, bring_up, online=True)
    sys.exit(fence.main(world, __doc__, sys.argv[1:]))
