"""An ssh that stays on this machine, where the sockets of one folder are reached from another."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# The words behind the host go to a shell that is not the caller's child, as the real one has it.
# What is to be forwarded is a link to the other socket: both folders are on this machine.
SSH = """#!/bin/bash
ways=() control= asked=
while [[ $1 == -* ]]; do
  case $1 in
    -o) shift 2 ;;
    -S) control=$2; shift 2 ;;
    -O) asked=$2; shift 2 ;;
    -L|-R) ways+=("$2"); shift 2 ;;
    -M) shift ;;
    --) shift; break ;;
    *) echo "unknown: $1" >&2; exit 255 ;;
  esac
done
host=$1; shift
if [[ $asked == forward ]]; then
  [[ $host == refusing ]] && { echo "remote port forwarding failed" >&2; exit 255; }
  kill -0 "$(cat "$control")" || exit 255
  for way in "${ways[@]}"; do ln -s "${way#*:}" "${way%%:*}"; done
  exit 0
fi
[[ -n $control ]] && echo $$ > "$control"
[[ $host == down ]] && { echo "ssh: connect to host down: No route to host" >&2; exit 255; }
[[ $host == silent ]] && exec sleep 600
[[ $host == old ]] && { echo "No module named moxing.launch.private" >&2; exit 1; }
[[ -n $control ]] && echo "a line of $host's .bashrc"
setsid --wait bash -c "$*" <&0
"""


# A slirp4netns that leads nowhere: where the real one is, it would add an interface.
ENGINE = """#!/bin/bash
for word in "$@"; do case $word in --ready-fd=*) eval "echo 1 >&${word#*=}"; esac; done
exec sleep 1000
"""


@pytest.fixture(autouse=True)
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    for name, lines in (("ssh", SSH), ("slirp4netns", ENGINE)):
        (tmp_path / "bin" / name).write_text(lines)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
