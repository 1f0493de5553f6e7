"""Reads the settings of an Estimator's run from flags, the environment and the RunConfig."""

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
from moxing.estimator.config import NEVER_HOURS
from moxing.estimator.strategies import asked_devices
from moxing.flags import command, hello, recording, saving
from moxing.flags.placement import placement
from moxing.flags.updating import updating

if TYPE_CHECKING:
    from moxing.cluster.cluster import Cluster
    from moxing.estimator.config import RunConfig

_SCALES = ("loss_scale", "dynamic_loss_scale", "use_fp16")


def begin() -> None:
    """Logs the versions in use, and reads the command line.

    Raises:
        MoxNotSupportedError: a flag that Estimators do not support.
        MoxValueError: MOX_KEEP_BEST names no metric.
    """
    hello.say_hello()
    flags.read_command_line()
    flags.check_supported()
    saving.best()
    for name in _SCALES:
        if name in flags.given():
            raise MoxNotSupportedError(
                f"--{name} is for mox.run: an Estimator's model_fn takes its own gradients. Use"
                " --use_bf16, or leave it out."
            )


def cluster() -> Cluster | None:
    """Returns the cluster of processes that train together; None: this process runs alone.

    Raises:
        MoxValueError: the description of the cluster is invalid.
    """
    begin()
    return placement().group.cluster


def group(config: RunConfig) -> ProcessGroup:
    """Returns the processes of a training, and this process's settings to connect to them."""
    return placed(config, TRAIN).group


def placed(config: RunConfig, mode: str) -> Placement:
    """Returns where a run computes; all modes except TRAIN use one device of this process."""
    begin()
    found = placement()
    devices.has_gpu()  # TensorFlow's first listing of devices is noisy: do it before a server does.
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
    """Returns what a run logs.

    Args:
        mode: the engine's mode.
        every: the number of steps between log lines.
        model_dir: the directory of a profile; None: no files.
    """
    names = _NAMES
    if mode != TRAIN:
        names = _NAMES | {"input_fn": f"the {_DOING[mode]}'s input_fn"}
    return Logging(
        every,
        first_device=flags.get_flag("log_first_clone"),
        profile=recording.profile_steps(flags.get_flag("profile_steps"), model_dir),
        settings=recording.settings(),
        program=command.recorded(),
        also=recording.also(),
        loggers=recording.loggers(),
        names=names,
    )


def restoring(path: str | None, again: bool = False, untrained: bool = False) -> Restoring:
    """Returns the values that a run starts from when model_dir has no checkpoint."""
    return Restoring(
        path,
        flags.patterns("checkpoint_include_patterns"),
        flags.patterns("checkpoint_exclude_patterns"),
        again,
        untrained,
        flags.get_flag("use_ema"),
    )


def optimization(optimizer_fn: Callable[[], tf.train.Optimizer] | None = None) -> Optimization:
    """Returns which variables a run updates, and with which optimizer."""
    return Optimization(
        () if optimizer_fn is None else (optimizer_fn,),
        flags.patterns("trainable_include_patterns"),
        flags.patterns("trainable_exclude_patterns"),
        updating(),
    )


def summaries(every: int = Summaries.every, automatic: bool = False) -> Summaries:
    """Returns what a run writes for TensorBoard."""
    return Summaries(every, automatic, flags.get_flag("summary_verbosity") >= 2)


def precision() -> Precision:
    """Returns the dtypes in which a model computes."""
    return Precision("bfloat16" if flags.get_flag("use_bf16") else None)


def seed(config: RunConfig) -> int | None:
    """Returns the random seed of a run: the flag's, or else the RunConfig's."""
    flagged = flags.get_flag("seed")
    return config.tf_random_seed if flagged is None else flagged


def saves_in_step() -> bool:
    """Returns whether checkpoints are written before the next step, and not beside it."""
    return saving.in_step()


def hours(config: RunConfig) -> float | None:
    """Returns the hours after which another checkpoint stays for good; None: no checkpoint does."""
    flagged, own = saving.hours(), config.keep_checkpoint_every_n_hours
    if flagged is None:
        return own if own < NEVER_HOURS else None
    return flagged


def threads(session_config: Any) -> Threads:
    """Returns the sizes of thread pools: the flags', or else those of the RunConfig."""
    inter, intra = flags.get_flag("num_inter_threads"), flags.get_flag("num_intra_threads")
    if session_config is not None:
        inter = inter or session_config.inter_op_parallelism_threads
        intra = intra or session_config.intra_op_parallelism_threads
    return Threads(inter, intra)


_DEFAULT_TIMEOUT = 7200
_DOING = {EVAL: "evaluation", PREDICT: "prediction"}
# The names that the engine's messages use for an Estimator's options, by the engine's names.
_NAMES = {
    "log_dir": "model_dir",
    "max_number_of_steps": "max_steps",
    "limit": "max_steps={}",
    "--checkpoint_path": "warm_start_from",
    "--loss_scale": "",
    "ps_hosts": "ps processes in TF_CONFIG's cluster, or --ps_hosts=host:port,...",
}


def _devices(config: RunConfig, flagged: int) -> int:
    """Returns the number of devices that train in this process: one without a strategy."""
    strategy = config.train_distribute
    if strategy is None:
        return 1
    asked = asked_devices(strategy)
    if asked is not None:
        return asked
    if "num_gpus" not in flags.given() and devices.has_gpu():
        return len(tf.config.list_physical_devices("GPU"))
    return flagged
