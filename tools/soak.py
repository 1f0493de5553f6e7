"""Kills tasks of training jobs at random, for as long as it is told, and checks what must hold.

    python tools/soak.py --kills 100 [--seed 1] [--shape collective]

Every job is one of three clusters on this machine: two workers that exchange gradients, the same
with a parameter server, and workers that do not wait for each other. A random task of a running job
is killed, stopped, told to stop or made to fail, at a random step; or killed from outside after a
random time, which may be while it starts, waits for the others, saves or ends. Then the job is
started again. After each fault: all others have ended within 15 seconds and say why; the next start
goes on from the last commit, which is not older than any that was acknowledged. A synchronous job
ends with the weights of one that nothing happened to. Prints a line a fault, and what was found.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "engine"))

import numpy as np  # noqa: E402
from faults import Fault, Lasting, Shape  # noqa: E402
from gang import Nursery  # noqa: E402

STEPS, ASYNC_STEPS, FAULTS_A_JOB = 150, 400, 10
SHAPES = {
    "collective": Shape(2),
    "three": Shape(3),
    "ps": Shape(2, 1, ("--variable_update=parameter_server",)),
    "two ps": Shape(2, 2, ("--variable_update=parameter_server",)),
    "async": Shape(2, 1, ("--sync_replicas=false",)),
}
KINDS = (
    *["kill"] * 8,
    *["after"] * 8,
    *["saving"] * 2,
    "term",
    "term all",
    "raise",
    "full",
    "stop",
)


def schedule(shape: Shape, count: int, dice: random.Random) -> list[Fault]:
    """Random faults, at steps that rise."""
    faults, step = [], 0
    for _ in range(count):
        kind = dice.choice(KINDS)
        tasks = shape.tasks
        if kind in ("saving", "full"):
            tasks = ["worker 0"]
        elif kind == "raise":
            tasks = [task for task in tasks if task.startswith("worker")]
        step += dice.randint(1, 12)
        seconds = dice.uniform(0.0, 4.0)
        faults.append(Fault(dice.choice(tasks), step, kind, seconds))
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--kills", type=int, default=100, help="how many faults; default: 100")
    parser.add_argument(
        "--seed", type=int, default=None, help="of the schedule; default: a new one"
    )
    parser.add_argument("--shape", choices=[*SHAPES], help="default: all in turn")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 30) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    names, done, began = [given.shape] if given.shape else [*SHAPES], Counter(), time.time()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    nursery, expected = Nursery(), {}
    number = 0
    while sum(done.values()) < given.kills:
        name, dice = names[number % len(names)], random.Random(f"{seed} {number}")
        shape = SHAPES[name]
        if not shape.shares_steps and shape.workers not in expected:
            calm = Lasting(nursery, folder / f"calm-{name}", Shape(shape.workers), [], STEPS)
            calm.run()
            expected[shape.workers] = calm.weights()
        faults = schedule(shape, min(FAULTS_A_JOB, given.kills - sum(done.values())), dice)
        steps = ASYNC_STEPS if shape.shares_steps else STEPS
        job = Lasting(nursery, folder / f"{number}-{name}", shape, faults, steps)
        try:
            job.run()
        finally:
            for fault, seconds in job.happened:
                done[fault.kind] += 1
                print(f"{name}: {fault}: the others ended {seconds:.1f} s later", flush=True)
        found = job.weights()
        if shape.shares_steps:
            assert int(found["global_step"]) >= shape.workers * steps, found["global_step"]
        else:
            for variable, values in expected[shape.workers].items():
                np.testing.assert_allclose(found[variable], values, 1e-5, 1e-5, err_msg=variable)
        number += 1
    nursery.close()
    shutil.rmtree(folder)
    print(f"{dict(done)} in {number} jobs and {time.time() - began:.0f} s: nothing hung, no commit")
    print("was lost, and every synchronous job ended with the weights of an undisturbed one.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
