"""A model of the step time of synchronous training, fitted to measurements and published results.

    T(n) = C (1 + s sqrt(2 ln n)) + max((1 - o) R(n), R(n) - 2/3 C)
    R(n) = 2 (m - 1) / m * B / w + a (m - 1)

C seconds of computation of one device, s the relative spread of its step times (the slowest of n
independent normal times lies about sqrt(2 ln n) deviations above the mean), B bytes of gradients,
m machines in the ring, w bytes/s that one machine's network really carries, a seconds for each
further machine, o the share of the gradients' travel that hides behind back-propagation. That is
two thirds of C and bounds what can hide; how much does depends on how early the large gradients
are there, and on the message that holds the last.

On one machine, where processes share cores and the "network" is the same cores copying bytes,
there is nothing to overlap with and work adds up: T(n) = n C + a (n - 1) + 2 (n - 1) B / w.

    python benchmarks/two_workers.py --json two.json             # measure first
    python benchmarks/two_workers.py --workers 3 --contestants openmox,alone --json three.json
    python benchmarks/scaling_model.py two.json three.json
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

BACKWARD = 2 / 3
GIGABIT = 1e9 / 8


@dataclass(frozen=True)
class Point:
    """A published result: `devices` in machines of `per_machine` reached `efficiency` of linear.

    `seconds` of computation a step on one device, `megabytes` of gradients, `gigabits` of network.
    """

    what: str
    devices: int
    per_machine: int
    seconds: float
    megabytes: float
    gigabits: float
    efficiency: float | None = None


RESNET, BERT = "ResNet-50 fp32, batch 128, V100", "BERT-base fp32, batch {}, V100"
ONEFLOW = [  # OneFlow's reports of August 2020: one V100 does 383.8 images/s.
    *(
        Point(f"OneFlow {RESNET}", n, 8, 128 / 383.8, 102, 100, factor / n)
        for n, factor in ((8, 7.67), (16, 15.22), (32, 30.09))
    ),
    Point("OneFlow " + BERT.format(96), 32, 8, 96 / 149.8, 440, 100, 29.75 / 32),
    Point("OneFlow " + BERT.format(32), 32, 8, 32 / 145.2, 440, 100, 25.59 / 32),
]
# Horovod's benchmarks page; the rate of one P100 is that of TensorFlow's benchmarks of 2017, for
# ResNet-101 between those of ResNet-50 (219) and ResNet-152 (92).
HOROVOD = [
    Point("Horovod ResNet-101, batch 64, P100", 512, 4, 64 / 130, 178, 25, 0.90),
    Point("Horovod Inception V3, batch 64, P100", 512, 4, 64 / 142, 95, 25, 0.90),
    Point("Horovod VGG-16, batch 64, P100", 512, 4, 64 / 154, 553, 25, 0.68),
]
# 85,993 images/s at 0.759 of linear are 885 images/s of one V100. Its batch was not published, so
# it is no part of the fit: the model is asked for all that it may have been.
MOXING = [
    Point(f"MoXing ResNet-50 fp16, batch {batch}, V100", 128, 8, batch / 885, 51, 100, 0.759)
    for batch in (32, 64, 128)
]
FITTED = [*ONEFLOW, *HOROVOD]


@dataclass(frozen=True)
class Network:
    """What the model is fitted with: s, the share of the line rate in w, a, and o."""

    spread: float
    share: float
    hop: float
    overlap: float


def efficiency(point: Point, network: Network) -> float:
    """What fraction of linear speed the model gives `point`."""
    machines = point.devices / point.per_machine
    wire = network.share * point.gigabits * GIGABIT
    travel = 2 * (machines - 1) / machines * point.megabytes * 1e6 / wire
    travel += network.hop * (machines - 1)
    waiting = 1 + network.spread * math.sqrt(2 * math.log(point.devices))
    exposed = max((1 - network.overlap) * travel, travel - BACKWARD * point.seconds)
    return point.seconds / (point.seconds * waiting + exposed)


def fit_published(points: Sequence[Point]) -> Network:
    """What fits best by least squares, on a grid."""
    grid = itertools.product(
        np.linspace(0.0, 0.05, 26),
        np.linspace(0.4, 1.0, 13),
        np.linspace(0.0, 1e-3, 11),
        np.linspace(0.0, 1.0, 21),
    )

    def off(network: Network) -> float:
        return sum((efficiency(p, network) - (p.efficiency or 0)) ** 2 for p in points)

    return min((Network(*values) for values in grid), key=off)


def local_rows(files: Sequence[str]) -> list[dict[str, Any]]:
    """Measured steps of openmox with the computation of one process beside each."""
    rows = [row for name in files for row in json.loads(Path(name).read_text())]
    alone = {
        size: np.mean(
            [1 / r["rate"] for r in rows if r["workers"] == 1 and r["parameters"] == size]
        )
        for size in {row["parameters"] for row in rows}
    }
    ours = [row for row in rows if row["name"] == "openmox"]
    return [{**row, "alone": alone[row["parameters"]]} for row in ours]


def fit_local(rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """a and w of the model of one machine, by least squares of relative errors."""
    matrix = [
        [
            (row["workers"] - 1) * row["rate"],
            8.0 * (row["workers"] - 1) * row["parameters"] * row["rate"],
        ]
        for row in rows
    ]
    rest = [1 - row["workers"] * row["alone"] * row["rate"] for row in rows]
    hop, per_byte = np.linalg.lstsq(np.array(matrix), np.array(rest), rcond=None)[0]
    return float(hop), float(1 / per_byte)


def show_local(files: Sequence[str]) -> float:
    """Prints the fit to this machine; bytes/s that its processes send."""
    rows = local_rows(files)
    hop, wire = fit_local(rows)
    print(f"One machine: a {hop * 1e3:.2f} ms, w {wire / 1e9:.2f} GB/s")
    for row in rows:
        took, others = 1 / row["rate"], row["workers"] - 1
        model = row["workers"] * row["alone"] + others * (hop + 8 * row["parameters"] / wire)
        print(
            f"  {row['workers']} workers, {row['parameters'] / 1e6:5.2f}M parameters: measured "
            f"{took * 1e3:7.2f} ms, model {model * 1e3:7.2f} ms ({model / took:.2f}x)"
        )
    return wire


def show_published() -> Network:
    """Prints the fit to published results."""
    network = fit_published(FITTED)
    print(
        f"Published: s {network.spread:.3f}, {network.share:.2f} of the line rate, "
        f"a {network.hop * 1e3:.2f} ms, o {network.overlap:.2f}"
    )
    for point in (*FITTED, *MOXING):
        alone = efficiency(replace(point, devices=point.per_machine), network)
        print(
            f"  {point.devices:4} x {point.what:42} published {point.efficiency:.3f} "
            f"model {efficiency(point, network):.3f}, of one machine's {point.per_machine} "
            f"{efficiency(point, network) / alone:.3f}"
        )
    return network


def project(network: Network, ours: float | None) -> None:
    """Prints what 8, 128 and 1,024 devices would reach, over a published network and gRPC."""
    print("Projection, V100, 8 a machine, 100 Gb/s: fraction of linear")
    for what, seconds, megabytes in (
        ("ResNet-50 fp32, batch 128", 128 / 383.8, 102),
        ("BERT-base fp32, batch 32", 32 / 145.2, 440),
    ):
        for devices in (8, 128, 1024):
            point = Point(what, devices, 8, seconds, megabytes, 100)
            line = f"  {devices:5} x {what:26} published network {efficiency(point, network):.2f}"
            if ours:
                slow = replace(network, share=ours / (100 * GIGABIT))
                line += f"  one gRPC stream a machine {efficiency(point, slow):.2f}"
            print(line)


def main() -> None:
    ours = show_local(sys.argv[1:]) if sys.argv[1:] else None
    project(show_published(), ours)


if __name__ == "__main__":
    main()
