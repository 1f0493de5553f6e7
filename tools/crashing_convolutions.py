"""Looks for convolutions whose gradients crash TensorFlow on this machine's CPU, each in a fork.

A crash is a corruption of memory, so it may need several runs: a combination counts as sound when
`--rounds` runs of it end well. Run it with a new TensorFlow, or on another kind of CPU; the
combinations that it prints belong into `moxing/engine/graph/rewrites/convolution_gradients.py`.

    .venv/bin/python tools/crashing_convolutions.py --kinds=conv2d --kernels=1,3
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# TensorFlow uses oneDNN by itself only on CPUs with AVX512_VNNI and newer.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
import tensorflow.compat.v1 as tf

_KINDS = ("conv2d", "depthwise", "conv3d", "transpose")
_PARTS = ("input", "filter")
_SECONDS = 60  # The longest that one combination may take.


@dataclass(frozen=True)
class Combination:
    """One convolution, and which of its gradients is computed."""

    kind: str
    kernel: int
    stride: int
    channels: tuple[int, int]
    size: int
    padding: str
    part: str

    def __str__(self) -> str:
        into, out = self.channels
        return (
            f"{self.kind} {self.kernel}x{self.kernel} stride {self.stride} {self.padding},"
            f" {into} -> {out} channels, size {self.size}: gradient of the {self.part}"
        )


def run(case: Combination, rounds: int) -> None:
    """Computes the gradient, in this process."""
    with tf.Graph().as_default(), tf.Session() as session:
        into, out = case.channels
        dimensions = 3 if case.kind == "conv3d" else 2
        size = min(case.size, 16) if dimensions == 3 else case.size
        x = tf.random.normal([4, *[size] * dimensions, into])
        y, weights = _convolution(case, x, [case.kernel] * dimensions, out)
        (gradient,) = tf.gradients(tf.square(y), x if case.part == "input" else weights)
        total = tf.reduce_sum(gradient)
        for _ in range(rounds):
            session.run(total)


def _convolution(
    case: Combination, x: tf.Tensor, kernel: list[int], out: int
) -> tuple[tf.Tensor, tf.Tensor]:
    into = case.channels[0]
    strides = [1, *[case.stride] * len(kernel), 1]
    if case.kind == "depthwise":
        weights = tf.random.normal([*kernel, into, max(1, out // into)])
        return tf.nn.depthwise_conv2d(x, weights, strides, case.padding), weights
    if case.kind == "conv3d":
        weights = tf.random.normal([*kernel, into, out])
        return tf.nn.conv3d(x, weights, strides=strides, padding=case.padding), weights
    if case.kind == "transpose":
        weights = tf.random.normal([*kernel, out, into])
        shape = [4, case.size * case.stride, case.size * case.stride, out]
        return tf.nn.conv2d_transpose(x, weights, shape, strides, "SAME"), weights
    weights = tf.random.normal([*kernel, into, out])
    return tf.nn.conv2d(x, weights, strides=strides, padding=case.padding), weights


def ends_well(case: Combination, rounds: int) -> bool:
    """Whether a fork that computes the gradient ends with code 0."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        run(case, rounds)
        os._exit(0)
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def combinations(options: argparse.Namespace) -> Iterator[Combination]:
    """All combinations of the options that are different computations."""
    for kind, kernel, stride, pair, size, padding, part in itertools.product(
        *(options.kinds, options.kernels, options.strides, options.channels),
        *(options.sizes, options.paddings, _PARTS),
    ):
        if kind == "transpose" and padding != "SAME":
            continue
        yield Combination(kind, kernel, stride, pair, size, padding, part)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _pairs(text: str) -> list[tuple[int, int]]:
    pairs = [part.split("-") for part in text.split(",")]
    return [(int(into), int(out)) for into, out in pairs]


def main() -> int:
    """Prints the combinations that crash; 1 if there are any."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=list(_KINDS))
    parser.add_argument("--kernels", type=_numbers, default=[1, 2, 3])
    parser.add_argument("--strides", type=_numbers, default=[1, 2, 3])
    parser.add_argument("--channels", type=_pairs, default=_pairs("3-8,5-8,8-8,8-16,16-16"))
    parser.add_argument("--sizes", type=_numbers, default=[32, 60, 64])
    parser.add_argument("--paddings", type=lambda text: text.split(","), default=["SAME", "VALID"])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    count, crashed = 0, 0
    for case in combinations(options):
        count += 1
        if not ends_well(case, options.rounds):
            crashed += 1
            print(case, flush=True)
    print(f"{crashed} of {count} combinations crash TensorFlow {tf.__version__}.")
    return 1 if crashed else 0


if __name__ == "__main__":
    sys.exit(main())
