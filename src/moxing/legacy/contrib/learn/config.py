"""`tf.contrib.learn.RunConfig`, and the names of environments and tasks."""

from __future__ import annotations

import json
import os
from typing import Any

from moxing.estimator import config

_SAVE_SECS = 600


class Environment:
    """The places where a program may run, as TF_CONFIG names them."""

    CLOUD = "cloud"
    GOOGLE = "google"
    LOCAL = "local"


class TaskType:
    """The roles of a cluster's processes."""

    EVALUATOR = "evaluator"
    MASTER = "master"
    PS = "ps"
    WORKER = "worker"


class RunConfig(config.RunConfig):
    """The settings of an Estimator, with the arguments that `tf.contrib.learn.RunConfig` took.

    Args:
        master, evaluation_master, num_cores, log_device_placement, gpu_memory_fraction: not used:
            the run opens its sessions itself.
        tf_random_seed, save_summary_steps, save_checkpoints_secs, save_checkpoints_steps,
            keep_checkpoint_max, keep_checkpoint_every_n_hours, log_step_count_steps, protocol,
            model_dir, session_config: see `tf.estimator.RunConfig`. Seconds are used when both
            schedules of checkpoints are left out, and steps when only they are given.
    """

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_secs: float | None = _SAVE_SECS,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: Any = None,
        session_config: Any = None,
    ) -> None:
        del master, num_cores, log_device_placement, gpu_memory_fraction, evaluation_master
        if save_checkpoints_steps is not None and save_checkpoints_secs == _SAVE_SECS:
            save_checkpoints_secs = None
        super().__init__(
            model_dir=model_dir,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=save_checkpoints_secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            protocol=protocol,
        )

    @property
    def environment(self) -> str:
        """The environment that TF_CONFIG names; "local" if it names none."""
        text = os.environ.get("TF_CONFIG", "").strip()
        return (json.loads(text) if text else {}).get("environment", Environment.LOCAL)

    @property
    def tf_config(self) -> Any:
        """`session_config`, of which programs set fields; only the sizes of thread pools count."""
        if self.session_config is None:
            import tensorflow.compat.v1 as tf

            self.session_config = tf.ConfigProto()
        return self.session_config

    def get_task_id(self) -> int:
        """Returns this process's index within its role."""
        return self.task_id
