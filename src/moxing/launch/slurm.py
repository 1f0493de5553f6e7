"""An sbatch script that runs a job under Slurm, one worker a node."""

from __future__ import annotations

import shlex
from pathlib import PurePath

from moxing.errors import MoxNotSupportedError
from moxing.launch.plan import Plan

_SCRIPT = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --nodes={workers}
#SBATCH --ntasks-per-node=1
{gpus}#SBATCH --output=%x-%j.log
#SBATCH --open-mode=append
# Two minutes before the time limit, the tasks save their step and end with 143.
#SBATCH --signal=TERM@120

# Every task finds the others in Slurm's variables.
stopped=0
trap 'stopped=1; kill -TERM "$running" 2>/dev/null' TERM INT
pause=1
for restarts in $(seq 0 {max_restarts}); do
  srun --distribution=block --kill-on-bad-exit=0 --wait=0 --label \\
    {command} &
  running=$!
  wait "$running"
  code=$?
  if [ "$stopped" = 1 ]; then
    wait "$running"
    exit 143
  fi
  # Up to 128 the program's own error; 143 with no other code: told to stop.
  if [ "$code" -le 128 ] || [ "$code" -eq 143 ] || [ "$restarts" -eq {max_restarts} ]; then
    exit "$code"
  fi
  echo "srun ended with $code; starting again in $pause s" >&2
  sleep "$pause"
  pause=$((pause * 2))
done
"""


def sbatch(plan: Plan, max_restarts: int) -> str:
    """The script; `sbatch FILE` runs it.

    Raises:
        MoxNotSupportedError: parameter servers, which Slurm's variables can't name.
    """
    if plan.ps:
        raise MoxNotSupportedError(
            f"--emit=slurm with --ps={plan.ps}: all tasks of a Slurm job are workers. Leave --ps"
            " out; synchronous training needs no parameter server."
        )
    gpus = f"#SBATCH --gpus-per-node={plan.num_gpus}\n" if plan.num_gpus else ""
    return _SCRIPT.format(
        name=PurePath(plan.script).stem.replace(" ", "-"),
        workers=plan.workers,
        gpus=gpus,
        max_restarts=max_restarts,
        command=shlex.join(["python", "-m", "moxing", "run", *plan.program]),
    )
