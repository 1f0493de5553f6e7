"""Finds the cluster of this process, from the environment, and its devices."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from moxing.cluster import script
from moxing.cluster.cluster import EVALUATOR, Cluster
from moxing.cluster.resolve import resolve
from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW

_NUM_GPUS = re.compile(r"--?num_gpus=(\d+)")


def cluster() -> Cluster | None:
    """Returns the cluster that TF_CONFIG or the platform describes; None: this process runs alone.

    Raises:
        MoxValueError: the description is invalid.
        SystemExit: 0 in an evaluator process, because the chief evaluates.
    """
    found = resolve({}, os.environ, sys.argv[0])
    if found is not None and found.job == EVALUATOR:
        TENSORFLOW.info("The chief evaluates; this process, an evaluator, has nothing to do.")
        raise SystemExit(0)
    return found


def is_chief() -> bool:
    """Whether this process saves: it runs alone, or is the chief (master) or worker 0."""
    found = resolve({}, os.environ, sys.argv[0])
    return found is None or found.is_chief


def devices(num_gpus: int | None) -> int:
    """Returns the number of devices of this process; for None, that of `--num_gpus`, else 1.

    0, which UAI Train passes on machines without a GPU, means the CPU.
    """
    if num_gpus is None:
        given = [m for m in map(_NUM_GPUS.fullmatch, sys.argv[1:]) if m]
        num_gpus = int(given[-1][1]) if given else 1
    if isinstance(num_gpus, bool) or not isinstance(num_gpus, int) or num_gpus < 0:
        raise MoxValueError(f"num_gpus={num_gpus!r}: it must be a number of devices, 0 or more.")
    if num_gpus == 0:
        # TensorFlow reads this variable when it first lists GPUs.
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    return max(num_gpus, 1)


def digest(**facts: Any) -> dict[str, str]:
    """Returns the settings that must be equal in all processes, by their names in an error."""
    told = {f"{name} of moxing.keras.fit": str(value) for name, value in facts.items()}
    return told | script.facts()
