"""What flags and the environment say of a run of an Estimator."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow.compat.v1 as tf

from moxing import flags
from moxing.engine.graph import devices
from moxing.engine.job.job import (
    EVAL,
    PREDICT,
    TRAIN,
    Logging,
    Optimization,
    Precision,
    Restoring,
    Summaries,
    Threads,
)
from moxing.engine.job.placement import Placement, ProcessGroup
from moxing.errors import MoxNotSupportedError
from moxing.estimator.strategies import asked_devices
from moxing.flags import hello, recording
from moxing.flags.placement import placement

if TYPE_CHECKING:
    from moxing.cluster.cluster import Cluster
    from moxing.estimator.config import RunConfig

_SCALES = ("loss_scale", "dynamic_loss_scale", "use_fp16")


def begin() -> None:
    """Says which versions run, and reads the command line.

    Raises:
        MoxNotSupportedError: a flag that an Estimator can't follow.
    """
    hello.say_hello()
    flags.read_command_line()
    flags.check_supported()
    for name in _SCALES:
        if name in flags.given():
            raise MoxNotSupportedError(
                f"--{name} is for mox.run: an Estimator's model_fn takes its own gradients. Use"
                " --use_bf16, or leave it out."
            )


def cluster() -> Cluster | None:
    """The processes that train together; None: this one is alone.

    Raises:
        MoxValueError: a description that can't be.
    """
    begin()
    return placement().group.cluster


def group(config: RunConfig) -> ProcessGroup:
    """The processes of a training, and what this one needs to meet the others."""
    return placed(config, TRAIN).group


def placed(config: RunConfig, mode: str) -> Placement:
    """Where a run computes; all modes but TRAIN take one device of this process."""
    begin()
    found = placement()
    devices.has_gpu()  # The first look, which is noisy, before a server takes it.
    if mode != TRAIN:
        alone = dataclasses.replace(found.group, devices=1, cluster=None, digest={})
        return dataclasses.replace(found, group=alone)
    timeout, given = found.group.start_timeout, config.session_creation_timeout_secs
    if given != _DEFAULT_TIMEOUT and "session_timeout" not in flags.given():
        timeout = float(given)
    count = _devices(config, found.group.devices)
    together = dataclasses.replace(found.group, devices=count, start_timeout=timeout)
    return dataclasses.replace(found, group=together)


def logging(mode: str, every: int, model_dir: str | None = None) -> Logging:
    """What a run says of itself.

    Args:
        mode: of the engine.
        every: steps between log lines.
        model_dir: where a profile goes; None: no files.
    """
    names = _NAMES
    if mode != TRAIN:
        names = _NAMES | {"input_fn": f"the {_DOING[mode]}'s input_fn"}
    return Logging(
        every,
        first_device=flags.get_flag("log_first_clone"),
        profile=recording.profile_steps(flags.get_flag("profile_steps"), model_dir),
        settings=recording.settings(),
        names=names,
    )


def restoring(path: str | None, again: bool = False, untrained: bool = False) -> Restoring:
    """Which values a run starts from, where model_dir has no checkpoint."""
    return Restoring(
        path,
        flags.patterns("checkpoint_include_patterns"),
        flags.patterns("checkpoint_exclude_patterns"),
        again,
        untrained,
    )


def optimization(optimizer_fn: Callable[[], tf.train.Optimizer] | None = None) -> Optimization:
    """Which variables a run moves, and by which optimizer."""
    return Optimization(
        () if optimizer_fn is None else (optimizer_fn,),
        flags.patterns("trainable_include_patterns"),
        flags.patterns("trainable_exclude_patterns"),
    )


def summaries(every: int = Summaries.every, automatic: bool = False) -> Summaries:
    """What a run writes for TensorBoard."""
    return Summaries(every, automatic, flags.get_flag("summary_verbosity") >= 2)


def precision() -> Precision:
    """In which types a model computes."""
    return Precision("bfloat16" if flags.get_flag("use_bf16") else None)


def seed(config: RunConfig) -> int | None:
    """What fixes the random numbers of a run: the flag, or else the RunConfig."""
    flagged = flags.get_flag("seed")
    return config.tf_random_seed if flagged is None else flagged


def threads(session_config: Any) -> Threads:
    """Sizes of thread pools: the flags', or else the RunConfig's."""
    inter, intra = flags.get_flag("num_inter_threads"), flags.get_flag("num_intra_threads")
    if session_config is not None:
        inter = inter or session_config.inter_op_parallelism_threads
        intra = intra or session_config.intra_op_parallelism_threads
    return Threads(inter, intra)


_DEFAULT_TIMEOUT = 7200
_DOING = {EVAL: "evaluation", PREDICT: "prediction"}
# What the engine's messages call an Estimator's options, by the engine's names.
_NAMES = {
    "log_dir": "model_dir",
    "max_number_of_steps": "max_steps",
    "limit": "max_steps={}",
    "--checkpoint_path": "warm_start_from",
    "--loss_scale": "",
    "ps_hosts": "ps processes in TF_CONFIG's cluster, or --ps_hosts=host:port,...",
}


def _devices(config: RunConfig, flagged: int) -> int:
    """How many devices train in this process: one, unless a strategy asks for more."""
    strategy = config.train_distribute
    if strategy is None:
        return 1
    asked = asked_devices(strategy)
    if asked is not None:
        return asked
    if "num_gpus" not in flags.given() and devices.has_gpu():
        return len(tf.config.list_physical_devices("GPU"))
    return flagged
