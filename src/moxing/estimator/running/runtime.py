"""What flags and the environment say of a run of an Estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow.compat.v1 as tf

from moxing import flags
from moxing.engine.graph import devices
from moxing.engine.job.job import EVAL, PREDICT, TRAIN
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
    return placement()["cluster"]


def fields(config: RunConfig, mode: str, model_dir: str | None) -> dict[str, Any]:
    """The fields of a Job that do not depend on functions.

    Args:
        config: of the estimator.
        mode: of the engine; all but TRAIN take one device of this process.
        model_dir: None: no files.
    """
    begin()
    placed = placement()
    devices.has_gpu()  # The first look, which is noisy, before a server takes it.
    if mode == TRAIN:
        placed["devices"] = _devices(config, placed["devices"])
        given = config.session_creation_timeout_secs
        if given != _DEFAULT_TIMEOUT and "session_timeout" not in flags.given():
            placed["start_timeout"] = float(given)
    else:
        placed |= {"devices": 1, "cluster": None, "digest": {}}
    seed = flags.get_flag("seed")
    return {
        **placed,
        "names": _NAMES
        if mode == TRAIN
        else _NAMES | {"input_fn": f"the {_DOING[mode]}'s input_fn"},
        **_threads(config.session_config),
        "compute_dtype": "bfloat16" if flags.get_flag("use_bf16") else None,
        "restore_include": flags.patterns("checkpoint_include_patterns"),
        "restore_exclude": flags.patterns("checkpoint_exclude_patterns"),
        "trainable_include": flags.patterns("trainable_include_patterns"),
        "trainable_exclude": flags.patterns("trainable_exclude_patterns"),
        "histograms": flags.get_flag("summary_verbosity") >= 2,
        "profile": recording.profile_steps(flags.get_flag("profile_steps"), model_dir),
        "settings": recording.settings(),
        "seed": config.tf_random_seed if seed is None else seed,
    }


_DEFAULT_TIMEOUT = 7200
_DOING = {EVAL: "evaluation", PREDICT: "prediction"}
# What the engine's messages call an Estimator's options, by the engine's names.
_NAMES = {
    "log_dir": "model_dir",
    "max_number_of_steps": "max_steps",
    "limit": "max_steps={}",
    "--checkpoint_path": "warm_start_from",
    "--loss_scale": "",
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


def _threads(session_config: Any) -> dict[str, int]:
    inter, intra = flags.get_flag("num_inter_threads"), flags.get_flag("num_intra_threads")
    if session_config is not None:
        inter = inter or session_config.inter_op_parallelism_threads
        intra = intra or session_config.intra_op_parallelism_threads
    return {"inter_op_threads": inter, "intra_op_threads": intra}
