"""RunConfig: how an Estimator runs, and which role this process has in the cluster."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np

from moxing import flags
from moxing.cluster.cluster import Cluster
from moxing.cluster.platforms import tf_config
from moxing.engine.job import ranking
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError, near_matches, shown
from moxing.estimator.counts import rounded_up
from moxing.estimator.strategies import Strategy, check
from moxing.flags.placement import placement
from moxing.framework.file import urls

_UNSET: Any = object()
_SAVE_SECS = 600
NEVER_HOURS = 10000  # TensorFlow's default, which no run reaches.
_NUMBER = int | float | np.integer | np.floating


class RunConfig:
    """The settings of an Estimator.

    Args:
        model_dir: directory of checkpoints, summaries and exports.
        tf_random_seed: fixes every random number; `--seed` overrides it. Without either, every run
            draws other random numbers.
        save_summary_steps: steps between summaries; None or 0: none.
        save_checkpoints_steps: steps between checkpoints.
        save_checkpoints_secs: seconds between checkpoints, default 600. Only one of the two
            schedules may be given. If both are None, only the first and last step are saved.
        session_config: a `tf.ConfigProto`; only the sizes of its thread pools are used.
        keep_checkpoint_max: checkpoints to keep; None or 0: all.
        keep_checkpoint_every_n_hours: hours after which another checkpoint is kept for good, beside
            these; None: no checkpoint is. The flag of this name overrides it.
        log_step_count_steps: steps between log lines; None or 0: no lines.
        train_distribute: a strategy of `tf.distribute`. Each process trains on as many devices as
            the strategy or `--num_gpus` asks for; with neither, on all its GPUs. None: one device.
        eval_distribute: not used: one device of one process evaluates.
        device_fn: must be None.
        experimental_distribute: an object whose `train_distribute` replaces that argument.
        session_creation_timeout_secs: seconds to wait for the other processes;
            `--session_timeout` overrides it.
        protocol, experimental_max_worker_delay_secs, checkpoint_save_graph_def: kept for programs
            that read them; not used.
        keep_best: the name of a metric of evaluations, such as "accuracy", whose best checkpoint
            is kept in `best` of model_dir; after the name of an evaluation that has one, as in
            "test/accuracy". "loss:min" and "score:max" say the direction, and "accuracy:max:3"
            keeps the three best. TensorFlow's RunConfig does not have this argument;
            `mox run --keep-best` needs no change of the program.
        **others: none is accepted.

    Raises:
        MoxValueError, MoxTypeError: a value that no run could use, or an unknown argument.
        MoxNotSupportedError: `device_fn`, or a strategy for TPUs.
    """

    def __init__(
        self,
        model_dir: Any = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: int | None = _UNSET,
        save_checkpoints_secs: float | None = _UNSET,
        session_config: Any = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float | None = NEVER_HOURS,
        log_step_count_steps: int | None = 100,
        train_distribute: Any = None,
        device_fn: Any = None,
        protocol: str | None = None,
        eval_distribute: Any = None,
        experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: float | None = None,
        session_creation_timeout_secs: float = 7200,
        checkpoint_save_graph_def: bool = True,
        keep_best: str | None = None,
        **others: Any,
    ) -> None:
        for name in others:
            near = near_matches(name, _FIELDS)
            raise MoxTypeError(f"tf.estimator.RunConfig has no argument {name!r}.{near}")
        steps, seconds = _schedule(save_checkpoints_steps, save_checkpoints_secs)
        if device_fn is not None:
            raise MoxNotSupportedError(
                "RunConfig(device_fn=...) is not supported: openmox places variables itself. Say"
                " where with --variable_update, or with tf.device inside model_fn."
            )
        if experimental_distribute is not None:
            train_distribute = getattr(experimental_distribute, "train_distribute", None)
        self.model_dir = None if model_dir is None else urls.text(model_dir)
        self.tf_random_seed = tf_random_seed
        self.save_summary_steps = _count("save_summary_steps", save_summary_steps)
        self.save_checkpoints_steps = steps
        self.save_checkpoints_secs = seconds
        self.session_config = session_config
        self.keep_checkpoint_max = _count("keep_checkpoint_max", keep_checkpoint_max)
        self.keep_checkpoint_every_n_hours = _hours(keep_checkpoint_every_n_hours)
        self.log_step_count_steps = _count("log_step_count_steps", log_step_count_steps)
        self.train_distribute: Strategy | Any = check(train_distribute)
        self.eval_distribute = eval_distribute
        self.device_fn = None
        self.protocol = protocol
        self.experimental_max_worker_delay_secs = experimental_max_worker_delay_secs
        self.session_creation_timeout_secs = session_creation_timeout_secs
        self.checkpoint_save_graph_def = checkpoint_save_graph_def
        self.keep_best = keep_best
        if keep_best is not None:
            ranking.parsed(keep_best, "RunConfig's keep_best")

    def replace(self, **changes: Any) -> RunConfig:
        """Returns a copy with the given arguments changed."""
        for name in changes:
            if name not in _FIELDS:
                near = near_matches(name, _FIELDS)
                raise MoxValueError(f"RunConfig.replace has no {name!r} to replace.{near}")
        if changes.get("save_checkpoints_steps") and "save_checkpoints_secs" not in changes:
            changes["save_checkpoints_secs"] = None
        if changes.get("save_checkpoints_secs") and "save_checkpoints_steps" not in changes:
            changes["save_checkpoints_steps"] = None
        now = {name: getattr(self, name) for name in _FIELDS}
        other = copy.copy(self)
        RunConfig.__init__(other, **{**now, **changes})
        return other

    @property
    def cluster(self) -> Cluster | None:
        """The cluster that flags, TF_CONFIG or the platform describe; None: this process is alone.

        Raises:
            MoxValueError: the description is invalid.
        """
        # `mox launch` tells each process its place by flags.
        flags.read_command_line()
        return placement().group.cluster

    @property
    def _described(self) -> Cluster | None:
        """The cluster, also where TF_CONFIG lists this process alone, which needs no cluster."""
        return self.cluster or tf_config.read(os.environ)

    @property
    def task_type(self) -> str:
        """This process's role: "chief", "worker", "ps" or "evaluator"."""
        cluster = self._described
        if cluster is None:
            return "worker"
        return "chief" if cluster.is_chief else cluster.job

    @property
    def task_id(self) -> int:
        """This process's index within its role; the first worker after the chief is 0."""
        cluster = self._described
        if cluster is None or cluster.is_chief:
            return 0
        return cluster.index - 1 if cluster.job == "worker" else cluster.index

    @property
    def is_chief(self) -> bool:
        """Whether this process saves checkpoints."""
        return self.task_type == "chief" or self._described is None

    @property
    def num_worker_replicas(self) -> int:
        """The number of processes that train, including the chief."""
        cluster = self.cluster
        return cluster.size if cluster is not None else 1

    @property
    def num_ps_replicas(self) -> int:
        """The number of parameter servers."""
        cluster = self.cluster
        return len(cluster.ps) if cluster is not None else 0

    @property
    def global_id_in_cluster(self) -> int:
        """This process's index among all processes; parameter servers come last."""
        cluster = self.cluster
        if cluster is None:
            return 0
        return cluster.index + (cluster.size if cluster.job == "ps" else 0)

    @property
    def cluster_spec(self) -> Any:
        """The cluster as a `tf.train.ClusterSpec`."""
        import tensorflow.compat.v1 as tf

        cluster = self._described
        if cluster is None:
            return tf.train.ClusterSpec({})
        rest = list(cluster.workers[1:])
        jobs = {"chief": [cluster.workers[0]], "worker": rest, "ps": list(cluster.ps)}
        return tf.train.ClusterSpec({job: hosts for job, hosts in jobs.items() if hosts})

    @property
    def master(self) -> str:
        """An empty string: the run opens its sessions itself."""
        return ""

    evaluation_master = master

    @property
    def service(self) -> None:
        """Always None: no hosted service is behind a run."""


_FIELDS = (
    *("model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps"),
    *("save_checkpoints_secs", "session_config", "keep_checkpoint_max"),
    *("keep_checkpoint_every_n_hours", "log_step_count_steps", "train_distribute", "device_fn"),
    *("protocol", "eval_distribute", "experimental_max_worker_delay_secs"),
    *("session_creation_timeout_secs", "checkpoint_save_graph_def", "keep_best"),
)


def _schedule(steps: Any, seconds: Any) -> tuple[int | None, float | None]:
    if steps is _UNSET and seconds is _UNSET:
        return None, _SAVE_SECS
    steps = None if steps is _UNSET else steps
    seconds = None if seconds is _UNSET else seconds
    if steps is not None and seconds is not None:
        raise MoxValueError(
            f"RunConfig has save_checkpoints_steps={shown(steps)} and save_checkpoints_secs="
            f"{shown(seconds)}; give one of them."
        )
    for name, value in (("save_checkpoints_steps", steps), ("save_checkpoints_secs", seconds)):
        if value is not None and not (isinstance(value, _NUMBER) and value > 0):
            raise MoxValueError(f"RunConfig({name}={shown(value)}): it must be above 0, or None.")
    return rounded_up(steps), (None if seconds is None else float(seconds))


def _hours(value: Any) -> float:
    if value is None:  # As TensorFlow took it.
        return NEVER_HOURS
    if not (isinstance(value, _NUMBER) and not isinstance(value, bool) and value > 0):
        raise MoxValueError(
            f"RunConfig(keep_checkpoint_every_n_hours={shown(value)}): it must be a number above 0."
        )
    return float(value)


def _count(name: str, value: Any) -> int | None:
    """Returns the count as an int; None for None and 0, which mean "all" or "none" by setting."""
    if value is None or value == 0:
        return None
    count = rounded_up(value)
    if count is None or count < 0:
        raise MoxValueError(f"RunConfig({name}={shown(value)}): it must be a number, or None.")
    return count
