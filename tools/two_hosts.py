"""Two machines on this one, with a real Slurm and real sshd, for as long as a command runs.

    python tools/two_hosts.py [--install] [--limit=SECONDS] [--optional] COMMAND [ARGUMENT ...]

A machine is a network, mount and UTS namespace. The command finds a description of the machines in
the file that MOX_TWO_HOSTS names. tools/fence.py says what the options mean and what is returned.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import fence
from fence import SECONDS, run

PROGRAMS = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
    "munged": "munge",
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "nft": "nftables",
    "slirp4netns": "slirp4netns",
}
NAMES = ("n1", "n2")
LAN = "10.77.0."
# KillWait is short so that tests see its end; a node that is silent is given up soon.
SLURM = """\
ClusterName=two
SlurmctldHost=lan({lan}254)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/slurm
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurm/ctld.pid
SlurmdPidFile={folder}/spool.%n/pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
SlurmdParameters=config_overrides
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
MpiDefault=none
KillWait=10
SlurmdTimeout=20
MinJobAge=60
NodeName=n1 NodeAddr={lan}1 CPUs=4 State=UNKNOWN
NodeName=n2 NodeAddr={lan}2 CPUs=4 State=UNKNOWN
PartitionName=work Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=n1,n2 MaxTime=INFINITE State=UP PriorityTier=9 PreemptMode=OFF
"""
SSHD = """\
ListenAddress {lan}{number}
HostKey {folder}/ssh/host_{name}
AuthorizedKeysFile {folder}/ssh/id.pub
PidFile {folder}/ssh/{name}.pid
StrictModes no
UsePAM no
PasswordAuthentication yes
PermitRootLogin yes
MaxStartups 100
"""
SSH = """\
Host {lan}* n1 n2
  IdentityFile {folder}/ssh/id
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/ssh/known_hosts
  StrictHostKeyChecking yes
"""


def bring_up(folder: Path) -> dict[str, str]:
    """Starts both machines and their daemons; returns where a command finds them."""
    pids = machines(folder)
    facts = {
        "folder": str(folder),
        "hosts": {n: {"pid": pids[n], "address": f"{LAN}{i}"} for i, n in enumerate(NAMES, 1)},
        "slurm": run("slurmctld", "-V"),
        "ssh": run("sh", "-c", "ssh -V 2>&1"),
        "slirp4netns": run("slirp4netns", "--version").partition("\n")[0],
    }
    (folder / "world.json").write_text(json.dumps(facts))
    return {
        "MOX_TWO_HOSTS": str(folder / "world.json"),
        "SLURM_CONF": str(folder / "slurm.conf"),
    }


def machines(folder: Path) -> dict[str, int]:
    """The process number that holds each machine's namespaces."""
    for name in ("munge", "slurm", "ssh", *(f"spool.{name}" for name in NAMES)):
        (folder / name).mkdir(mode=0o700)
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    run("hostname", "lan")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "lan", "type", "bridge")
    run("ip", "addr", "add", f"{LAN}254/24", "dev", "lan")
    run("ip", "link", "set", "lan", "up")
    write_files(folder)
    munged(folder)
    run("slurmctld", "-f", str(folder / "slurm.conf"))
    pids = {name: machine(folder, name, number) for number, name in enumerate(NAMES, 1)}
    deadline = time.monotonic() + SECONDS
    while run("sinfo", "-h", "-p", "work", "-o", "%D %T") != "2 idle":
        if time.monotonic() > deadline:
            raise TimeoutError(f"Slurm's nodes are not idle after {SECONDS} s: {run('sinfo')}")
        time.sleep(0.5)
    return pids


def write_files(folder: Path) -> None:
    (folder / "slurm.conf").write_text(SLURM.format(folder=folder, lan=LAN))
    lines = ["127.0.0.1 localhost", f"{LAN}254 lan"]
    lines += [f"{LAN}{number} {name}" for number, name in enumerate(NAMES, 1)]
    (folder / "hosts").write_text("\n".join(lines) + "\n")
    run("mount", "--bind", str(folder / "hosts"), "/etc/hosts")
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "ssh/id"))
    known = []
    for number, name in enumerate(NAMES, 1):
        key = folder / f"ssh/host_{name}"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
        public = key.with_suffix(".pub").read_text().rsplit(" ", 1)[0]
        known.append(f"{name},{LAN}{number} {public}")
        text = SSHD.format(folder=folder, name=name, number=number, lan=LAN)
        (folder / f"ssh/sshd_{name}").write_text(text)
    (folder / "ssh/known_hosts").write_text("\n".join(known) + "\n")
    (folder / "ssh/config").write_text(SSH.format(folder=folder, lan=LAN))
    (folder / "ssh/config").chmod(0o644)
    run("mount", "--bind", str(folder / "ssh/config"), "/etc/ssh/ssh_config")
    # sshd wants a folder here.
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    Path("/run/sshd").mkdir(mode=0o755)


def munged(folder: Path) -> None:
    key = folder / "munge/key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    (folder / "munge").chmod(0o755)
    names = ("socket", "key-file", "pid-file", "log-file", "seed-file")
    files = [f"--{name}={folder}/munge/{name.removesuffix('-file')}" for name in names]
    run("munged", "--force", *files)


def machine(folder: Path, name: str, number: int) -> int:
    """A machine with its own network, mounts and name, on which slurmd and sshd run."""
    holder = subprocess.Popen(
        ["unshare", "--net", "--uts", "--mount", "--propagation=private", "sleep", "infinity"]
    )
    wait_for_namespace(holder.pid)
    run("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "eth0", "netns", str(holder.pid))
    run("ip", "link", "set", f"to-{name}", "master", "lan", "up")
    enter = ["nsenter", "-t", str(holder.pid), "-n", "-u", "-m", "--"]
    run(*enter, "hostname", name)
    run(*enter, "ip", "addr", "add", f"{LAN}{number}/24", "dev", "eth0")
    run(*enter, "ip", "link", "set", "eth0", "up")
    run(*enter, "ip", "link", "set", "lo", "up")
    run(*enter, "slurmd", "-f", str(folder / "slurm.conf"), "-N", name)
    run(*enter, shutil.which("sshd") or "sshd", "-f", str(folder / f"ssh/sshd_{name}"))
    return holder.pid


def wait_for_namespace(pid: int) -> None:
    own = os.readlink("/proc/self/ns/mnt")
    deadline = time.monotonic() + SECONDS
    while os.readlink(f"/proc/{pid}/ns/mnt") == own:
        if time.monotonic() > deadline:
            raise TimeoutError("no namespace of a machine")
        time.sleep(0.01)


if __name__ == "__main__":
    world = fence.World("two machines", PROGRAMS, bring_up)
    sys.exit(fence.main(world, __doc__, sys.argv[1:]))
