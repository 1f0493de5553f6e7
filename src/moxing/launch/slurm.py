"""An sbatch script that runs a job under Slurm, one worker a node."""

from __future__ import annotations

import math
import re
from pathlib import PurePath

from moxing.errors import MoxNotSupportedError
from moxing.framework import shell
from moxing.launch.plan import Plan
from moxing.launch.private.job import check_count

GRACE_SECONDS = 120.0
_MOST_GRACE = 65535  # The largest time that --signal takes.
_LEAST_WAIT = 600

_HEADER = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --nodes={workers}
#SBATCH --ntasks-per-node=1
{gpus}#SBATCH --output=%x-%j.log
#SBATCH --open-mode=append
# After the death of a node, or to make room for another job, Slurm starts all of this again.
#SBATCH --requeue
# {grace} seconds before the time limit the tasks save their step and end with 143. B: Slurm signals
# only this script, which tells the tasks, so that it knows which 143 it has asked for.
#SBATCH --signal=B:TERM@{grace}

"""
_SCRIPT = """\
# The shell that runs the program on each node. It tells the program to stop once, however many
# signals come. The script around it sends USR2 repeatedly. Slurm itself sends TERM: to this shell
# alone, or also to its children, as ProctrackType says; a dead canary shows that they got it.
# srun returns the highest code of all its tasks. A task that has lost another task ends with 143,
# and must not hide the error of that task: the program's own codes, 1 to 94, become 161 to 254.
# bash forgets a process that ends in the moment in which a signal ends `wait`: the next `wait`
# lasts as long as there is another child, here the canary, and returns 0. The task then ends with
# 143: after a restart, a program that had finished says so and ends with 0.
task='told= early= signals=0 program=
tell() {{
  signals=$((signals + 1))
  if [ -z "$program" ]; then early=$1; return; fi
  if [ -n "$told" ]; then return; fi
  told=$1
  trap "" USR2 TERM INT
  if [ "$1" = USR2 ]; then kill -TERM "$program"; return; fi
  sleep 0.5
  if kill -0 "$canary" 2>/dev/null; then kill -"$1" "$program"; fi
}}
trap "tell USR2" USR2
trap "tell TERM" TERM
trap "tell INT" INT
(trap "" USR2; trap - INT; exec sleep 2147483647) >/dev/null 2>&1 &
canary=$!
disown "$canary"
(trap "" USR2; trap - INT; exec "$@") &
program=$!
if [ -n "$early" ]; then tell "$early"; fi
before=-1 unsure=
while [ "$before" -ne "$signals" ]; do
  before=$signals
  wait "$program"
  code=$?
  if [ "$before" -ne "$signals" ] && ! kill -0 "$program" 2>/dev/null; then
    unsure=1
    kill -KILL "$canary" 2>/dev/null
  fi
done
kill -KILL "$canary" 2>/dev/null
if [ -n "$unsure" ] && [ "$code" -eq 0 ]; then code=143; fi
if [ "$code" -ge 1 ] && [ "$code" -le 94 ]; then exit $((code + 160)); fi
if [ "$code" -ge 95 ] && [ "$code" -le 128 ] || [ "$code" -ge 160 ]; then exit 255; fi
exit "$code"'

stopped=0 running= telling= pausing=
trap 'stopped=$((stopped + 1)); tell_tasks; kill $pausing 2>/dev/null' TERM INT

# Tells the tasks to stop. A signal to srun would kill them, so scancel signals the tasks
# themselves. A signal that comes before they run is lost, so it is repeated until srun has ended.
# The first signal waits a second: at the end of a job Slurm tells the tasks too, and a second
# SIGTERM would cut their save.
tell_tasks() {{
  if [ -z "$running" ] || [ -n "$telling" ]; then return; fi
  while sleep 1 && kill -0 "$running"; do
    scancel --signal=USR2 "$SLURM_JOB_ID.$restarts"
    sleep 4
  done >/dev/null 2>&1 &
  telling=$!
}}

# A signal ends `wait`, and not the process for which it waits. If that process ended in the same
# moment, bash may have forgotten its end, and would wait for it without limit.
await() {{
  if [ "$stopped" -gt 0 ]; then tell_tasks; fi
  before=-1
  while [ "$before" -ne "$stopped" ]; do
    before=$stopped
    wait "$running"
    code=$?
    if [ "$before" -ne "$stopped" ] && ! kill -0 "$running" 2>/dev/null; then break; fi
  done
  running=
  kill $telling 2>/dev/null
}}

# One of an array's jobs has the number of the whole array.
job=${{SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}}${{SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}}
export MOX_JOB_SECRET=
unset MOX_JOB_SECRET_FILE
pause=1
for restarts in $(seq 0 {max_restarts}); do
  # A process without this secret can't join the tasks; each start has a new secret. It is in no
  # command line, which every user of the machine may see.
  MOX_JOB_SECRET=$(od -vAn -N32 -tx1 /dev/urandom | tr -d ' \n')
  # Every task finds the others in Slurm's variables. After a death the others end within seconds; a
  # task that hangs is killed --wait seconds after the first end. The wait is this long because the
  # first worker may still upload its checkpoint when the others are done.
  srun --distribution=block --kill-on-bad-exit=0 --wait={wait} --label bash -c "$task" task \\
    {command} &
  running=$!
  await
  if [ "$stopped" -gt 0 ]; then exit 143; fi
  if [ "$code" -eq 255 ]; then exit 255; fi
  if [ "$code" -gt 160 ]; then exit $((code - 160)); fi
  # Codes up to 128 are srun's own. Others are of a signal, or 143 that nobody asked for: tasks died
  # or lost others.
  if [ "$code" -le 128 ] || [ "$restarts" -eq {max_restarts} ]; then exit "$code"; fi
  if scontrol show job "$job" 2>/dev/null | grep -q "PreemptTime=[0-9]"; then
    echo "srun ended with $code; another job gets the nodes" >&2
    pause=3600  # Slurm ends this shell, and requeues the job if it is to be started again.
  else
    echo "srun ended with $code; starting again in $pause s" >&2
  fi
  sleep "$pause" &
  pausing=$!
  if [ "$stopped" -gt 0 ]; then kill "$pausing"; fi
  wait "$pausing"
  pausing=
  if [ "$stopped" -gt 0 ]; then exit 143; fi
  pause=$((pause < 30 ? pause * 2 : 60))
done
"""
# srun connects nothing, so ssh does: to nodes of the user's own job, as pam_slurm_adopt allows it.
_PRIVATE = """\
# No port of the job is open: ssh carries the connections between the nodes. The launcher takes the
# place of this shell, so Slurm's signals reach the launcher, which tells the tasks.
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | paste -sd, -)
exec python -m moxing launch --hosts="$hosts" --ssh --private \\
  {command}
"""


def sbatch(plan: Plan, max_restarts: int, grace: float) -> str:
    """Returns the script, which `sbatch FILE` runs.

    Args:
        plan: the job.
        max_restarts: how many times the tasks are restarted after a death.
        grace: seconds before the time limit at which they are told to stop.

    Raises:
        MoxNotSupportedError: the plan has parameter servers, which Slurm's variables can't name.
    """
    if plan.ps:
        raise MoxNotSupportedError(
            f"--emit=slurm with --ps={plan.ps}: all tasks of a Slurm job are workers. Leave --ps"
            " out; synchronous training needs no parameter server."
        )
    return _header(plan, grace) + _SCRIPT.format(
        wait=max(math.ceil(grace), _LEAST_WAIT),
        max_restarts=max_restarts,
        command=shell.joined(["python", "-m", "moxing", "run", *plan.program]),
    )


def private(plan: Plan, max_restarts: int, grace: float) -> str:
    """Returns a script whose tasks have networks of their own, which ssh connects.

    Args:
        plan, max_restarts, grace: as of `sbatch`.

    Raises:
        MoxValueError: the plan has too many tasks.
    """
    check_count(plan.workers + plan.ps)
    devices = [] if plan.num_gpus is None else [f"--num_gpus={plan.num_gpus}"]
    own = [f"--max_restarts={max_restarts}", f"--grace={grace:g}", *devices]
    own += [f"--ps={plan.ps}"] if plan.ps else []
    module = ["-m"] if plan.as_module else []
    return _header(plan, grace) + _PRIVATE.format(
        command=shell.joined([*own, *module, plan.script, *plan.arguments])
    )


def _header(plan: Plan, grace: float) -> str:
    """Returns the lines of a script that `sbatch` reads."""
    gpus = f"#SBATCH --gpus-per-node={plan.num_gpus}\n" if plan.num_gpus else ""
    return _HEADER.format(
        # A file's name must not smuggle in a line such as #SBATCH --wrap=...
        name=re.sub(r"[^\w.+]+", "-", PurePath(plan.script).stem),
        workers=plan.workers,
        gpus=gpus,
        grace=min(math.ceil(grace), _MOST_GRACE),
    )
