"""The table of limits in SECURITY.md has the limits of the code."""

from __future__ import annotations

from pathlib import Path

from moxing.cluster import addresses, secret, wire
from moxing.cluster.cluster import MOST_TASKS
from moxing.cluster.rendezvous import files
from moxing.engine.reporting.records import line
from moxing.flags import TABLE, config_file
from moxing.launch import gpus, hosts, plan, task
from moxing.launch.private import job
from moxing.tensorflow.datasets import labels
from moxing.tensorflow.datasets.decoding import bitmap, decode
from moxing.tensorflow.datasets.raw import multilabel
from moxing.tensorflow.datasets.tfrecords import compressed

PAGE = Path(__file__).parents[2] / "SECURITY.md"
LIMITS = [
    f"{MOST_TASKS:,}",
    f"{hosts.MOST:,}",
    f"{plan.MOST:,}",
    f"{job.MOST:,}",
    f"{gpus.MOST:,}",
    f"{addresses.LONGEST_HOST:,}",
    f"{secret._LEAST:,} to {secret._MOST:,}",
    f"{wire.LONGEST_HELLO:,}",
    f"{wire.LONGEST:,}",
    f"{files._MOST_STRANGERS:,}",
    f"{decode.LARGEST:,}",
    f"{config_file._LARGEST:,}",
    f"{labels.LARGEST:,}",
    f"{multilabel.LARGEST_LABELS:,}",
    f"{line.LONGEST:,}",
    f"{compressed._CHUNK:,}",
    f"{task._LONGEST:,}",
]


def test_the_table_has_the_limits_of_the_code() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Limits")[2].splitlines()
    rows = [row.strip("| ").split(" | ") for row in table if row.startswith("| ")][1:]
    assert [limit for _, limit in rows] == LIMITS


def test_limits_that_stand_in_two_places_are_the_same() -> None:
    assert bitmap.LARGEST == decode.LARGEST
    (flag,) = (spec for spec in TABLE if spec.name == "num_gpus")
    assert flag.most == gpus.MOST
