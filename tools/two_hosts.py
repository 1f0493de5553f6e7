"""Two machines on this one, with a real Slurm and real sshd, for as long as a command runs.

    python tools/two_hosts.py [--install] [--limit=SECONDS] [--optional] COMMAND [ARGUMENT ...]

A machine is a network, mount and UTS namespace. Both, the daemons and the command live in one PID
namespace, so that the kernel takes all of it away when the command ends, or when this program is
killed; files lie in one temporary folder. The real machine's network, `/etc` and `/run` stay as
they are. The command finds a description of the machines in the file that MOX_TWO_HOSTS names.

The exit code is the command's; 124 after SECONDS; 75 where the machines can't be brought up here,
which is then said in one sentence. With --optional these two are 0. --install fetches missing
packages of Debian or Ubuntu. Needs root.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

CANNOT, TOO_LONG = 75, 124  # EX_TEMPFAIL, and what timeout(1) says.
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
}
NAMES = ("n1", "n2")
LAN = "10.77.0."
SECONDS = 30  # For all daemons to answer.
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


def give_up(why: str) -> NoReturn:
    print(f"No two machines here: {why}", flush=True)
    sys.exit(CANNOT)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--inside"]:
        return inside(Path(arguments[1]), arguments[2:])
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--limit", type=float)
    parser.add_argument("--optional", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    if not given.command:
        parser.error("which command?")
    try:
        code = brought_up(given.install, given.limit, given.command)
    except SystemExit as end:
        code = int(end.code or 0)
    return 0 if given.optional and code in (CANNOT, TOO_LONG) else code


def brought_up(install: bool, limit: float | None, command: list[str]) -> int:
    if os.geteuid() != 0:
        give_up("this needs root, for namespaces and daemons.")
    get_programs(install)
    folder = Path(tempfile.mkdtemp(prefix="two-hosts-"))
    folder.chmod(0o755)
    try:
        return fenced(folder, limit, command)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def get_programs(install: bool) -> None:
    """Sees to it that all programs are here; Debian's packages are installed if asked."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = sorted({package for name, package in PROGRAMS.items() if not shutil.which(name)})
    if missing and install and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        # Daemons of packages must not start on the real machine; only its own policy is kept.
        policy = Path("/usr/sbin/policy-rc.d")
        ours = not policy.exists()
        if ours:
            policy.write_text("#!/bin/sh\nexit 101\n")
            policy.chmod(0o755)
        try:
            wanted = ["install", "-q", "-y", "--no-install-recommends", *missing]
            for words in (["update", "-q"], wanted):
                subprocess.run(
                    ["apt-get", "-o", "Acquire::http::Timeout=20", *words],
                    env=quiet,
                    timeout=300,
                    check=True,
                    stdout=subprocess.DEVNULL,
                )
        except (OSError, subprocess.SubprocessError) as error:
            give_up(f"apt-get can't install {' '.join(missing)} ({error}).")
        finally:
            if ours:
                policy.unlink()
        missing = sorted({package for name, package in PROGRAMS.items() if not shutil.which(name)})
    if missing:
        give_up(f"install {' '.join(missing)}, or call this with --install.")


def fenced(folder: Path, limit: float | None, command: list[str]) -> int:
    """Runs this program again as the first process of namespaces of its own."""
    fence = ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
    fence += ["--mount-proc", "--propagation=private"]
    probe = subprocess.run([*fence, "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        give_up(f"the kernel allows no namespaces ({probe.stderr.strip()}).")
    own = [sys.executable, os.path.abspath(__file__), "--inside", str(folder), *command]
    process = subprocess.Popen([*fence, "--", *own], preexec_fn=die_with_parent)

    def end(number: int, frame: FrameType | None) -> NoReturn:
        del frame
        sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    try:
        code = process.wait(limit)
        return code if code >= 0 else 128 - code
    except subprocess.TimeoutExpired:
        print(f"Cut off after {limit:g} s: {' '.join(command)}", flush=True)
        return TOO_LONG
    finally:
        process.kill()  # The kernel kills all that is inside.
        process.wait()


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


def inside(folder: Path, command: list[str]) -> int:
    """Brings up the machines, and runs the command beside them."""
    try:
        pids = bring_up(folder)
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "stderr", None) or ""
        for log in folder.glob("*.log"):
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}")
        give_up(f"{error} {output}")
    facts = {
        "folder": str(folder),
        "hosts": {n: {"pid": pids[n], "address": f"{LAN}{i}"} for i, n in enumerate(NAMES, 1)},
        "slurm": run("slurmctld", "-V"),
        "ssh": run("sh", "-c", "ssh -V 2>&1"),
    }
    (folder / "world.json").write_text(json.dumps(facts))
    environ = {
        **os.environ,
        "MOX_TWO_HOSTS": str(folder / "world.json"),
        "SLURM_CONF": str(folder / "slurm.conf"),
    }
    done = subprocess.Popen(command, env=environ)
    while True:  # As the first process, this one also buries what daemons leave behind.
        pid, status = os.wait()
        if pid == done.pid:
            return os.waitstatus_to_exitcode(status) & 0xFF


def run(*command: str) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.strip()


def bring_up(folder: Path) -> dict[str, int]:
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
    sys.exit(main(sys.argv[1:]))
