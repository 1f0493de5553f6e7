"""A real Ceph with its S3 gateway, for as long as a command runs.

    python tools/ceph_gateway.py [--install] [--limit=SECONDS] [--optional] COMMAND [ARGUMENT ...]

One monitor, one storage daemon that keeps objects in memory, and a gateway for each of two regions
(zonegroups, in Ceph's words). The command finds the first gateway's URL in MOX_S3_SERVER, as the
store fixture of the tests does, whose keys the gateways know, and the second one's in
MOX_S3_OTHER_REGION. tools/fence.py says what the options mean and what is returned.
"""

from __future__ import annotations

import sys
import time
import uuid
from pathlib import Path

import fence
from fence import SECONDS, run

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "fixtures"))
from store_keys import KEY, SECRET  # noqa: E402

PROGRAMS = {
    "ceph-mon": "ceph-mon",
    "ceph-osd": "ceph-osd",
    "radosgw": "radosgw",
    "ceph": "ceph-common",
    "ip": "iproute2",
}
ADDRESS = "127.0.0.1"
# The port of the gateway of each region; the first one's keeps the list of users and buckets.
REGIONS = {"here": 7480, "there": 7481}
SYSTEM = ("--access-key=MOXGATEWAYS", "--secret=mox-gateways")  # By which gateways know each other.
ENTITIES = ("mon.", "client.admin", *(f"client.rgw.{region}" for region in REGIONS))
# One copy of each object and one placement group a pool are enough for one storage daemon.
CONFIGURATION = """\
[global]
fsid = {fsid}
mon host = [v2:{address}:3300,v1:{address}:6789]
public addr = {address}
cluster addr = {address}
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 4294967296
mon allow pool size one = true
mon warn on pool no redundancy = false
mon data = {folder}/mon
mon data avail crit = 1
mon data avail warn = 2
osd data = {folder}/osd
run dir = {folder}
pid file = {folder}/$name.pid
admin socket = {folder}/$name.asok
log file = {folder}/$name.log
[mon]
keyring = {folder}/keyring
[client]
keyring = {folder}/keyring
[osd]
keyring = {folder}/osd/keyring
"""
GATEWAY = """\
[client.rgw.{region}]
rgw frontends = beast endpoint={address}:{port}
rgw data = {folder}/gateway
rgw realm = tests
rgw zonegroup = {region}
rgw zone = {region}
"""


def bring_up(folder: Path) -> dict[str, str]:
    """Starts the daemons; returns where a command finds the gateway."""
    run("ip", "link", "set", "lo", "up")
    fsid = str(uuid.uuid4())
    text = CONFIGURATION.format(folder=folder, fsid=fsid, address=ADDRESS)
    for region, port in REGIONS.items():
        text += GATEWAY.format(folder=folder, region=region, address=ADDRESS, port=port)
    configuration = folder / "ceph.conf"
    configuration.write_text(text)
    for name in ("mon", "osd", "gateway"):
        (folder / name).mkdir()
    keyring, own = str(folder / "keyring"), ("-c", str(configuration))
    caps = [word for kind in ("mon", "osd", "mgr") for word in ("--cap", kind, "allow *")]
    run("ceph-authtool", "--create-keyring", keyring)
    for entity in ENTITIES:
        run("ceph-authtool", keyring, "--gen-key", "-n", entity, *caps)
    run("ceph-mon", *own, "--mkfs", "-i", "a", "--keyring", keyring)
    run("ceph-mon", *own, "-i", "a")
    start_storage(folder, own)
    start_gateways(own)
    first, other = (f"http://{ADDRESS}:{port}" for port in REGIONS.values())
    return {
        "MOX_S3_SERVER": first,
        "MOX_S3_OTHER_REGION": other,
        "MOX_S3_VERSION": run("radosgw", "--version"),
    }


def start_gateways(own: tuple[str, ...]) -> None:
    """Starts the gateways, and makes the user that tests are."""

    def admin(*words: str) -> None:
        run("radosgw-admin", *own, *words)

    admin("realm", "create", "--rgw-realm=tests", "--default")
    for number, (region, port) in enumerate(REGIONS.items()):
        first = ["--master", "--default"] if number == 0 else []
        place = [f"--rgw-zonegroup={region}", f"--endpoints=http://{ADDRESS}:{port}", *first]
        admin("zonegroup", "create", "--rgw-realm=tests", *place)
        admin("zone", "create", f"--rgw-zone={region}", *place, *SYSTEM)
    first = f"--rgw-zone={next(iter(REGIONS))}"
    admin("user", "create", "--uid=system", "--display-name=system", "--system", first, *SYSTEM)
    admin("period", "update", "--commit", first)
    keys = [f"--access-key={KEY}", f"--secret={SECRET}", "--max-buckets=100000"]
    admin("user", "create", "--uid=tests", "--display-name=tests", first, *keys)
    for region in REGIONS:
        run("radosgw", *own, "-n", f"client.rgw.{region}")


def start_storage(folder: Path, own: tuple[str, ...]) -> None:
    """Starts the storage daemon, and waits until the monitor has it."""
    identity = str(uuid.uuid4())
    run("ceph", *own, "osd", "new", identity)
    allowed = ["mon", "allow *", "osd", "allow *", "mgr", "allow *"]
    keyring = str(folder / "osd" / "keyring")
    run("ceph", *own, "auth", "get-or-create", "osd.0", *allowed, "-o", keyring)
    run("ceph-osd", *own, "-i", "0", "--mkfs", "--osd-uuid", identity)
    run("ceph-osd", *own, "-i", "0")
    deadline = time.monotonic() + SECONDS
    while "1 up" not in run("ceph", *own, "osd", "stat"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the storage daemon is not up after {SECONDS} s")
        time.sleep(0.5)


if __name__ == "__main__":
    world = fence.World("real S3 server", PROGRAMS, bring_up)
    sys.exit(fence.main(world, __doc__, sys.argv[1:]))
