"""The settings of a TPUEstimator; settings of TPUs are kept only for programs that read them."""

from __future__ import annotations

from typing import Any, NamedTuple

from moxing.errors import MoxNotSupportedError, MoxTypeError, shown
from moxing.estimator import config as base
from moxing.estimator.tpu.resolver import TPUClusterResolver


class InputPipelineConfig:
    """The hosts on which a TPU calls input functions; here, every process calls them once."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class TPUConfig(NamedTuple):
    """Settings of a TPU; none has an effect here.

    Attributes:
        iterations_per_loop: the number of steps in one call of a TPU; here, each step is one call.
        others: see TensorFlow's class of the same name.
    """

    iterations_per_loop: int = 2
    num_shards: int | None = None
    num_cores_per_replica: int | None = None
    per_host_input_for_training: Any = True
    tpu_job_name: str | None = None
    initial_infeed_sleep_secs: int | None = None
    input_partition_dims: Any = None
    eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1
    experimental_host_call_every_n_steps: int = 1
    experimental_allow_per_host_v2_parallel_get_next: bool = False
    experimental_feed_hook: Any = None


class RunConfig(base.RunConfig):
    """A `tf.estimator.RunConfig` with a `tpu_config`.

    Args:
        tpu_config: a TPUConfig; None: its defaults.
        master, evaluation_master: must be empty: a run opens its session itself.
        cluster: must be None, or a TPUClusterResolver of no TPU.
        **others: see `tf.estimator.RunConfig`.

    Raises:
        MoxNotSupportedError: an argument names a TPU.
        MoxTypeError: tpu_config is not a TPUConfig.
    """

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: Any = None,
        **others: Any,
    ) -> None:
        if isinstance(cluster, TPUClusterResolver):
            cluster = None  # Its constructor has refused every TPU.
        given = {"master": master, "evaluation_master": evaluation_master, "cluster": cluster}
        for name, value in given.items():
            if value:
                raise MoxNotSupportedError(
                    f"tf.estimator.tpu.RunConfig has {name}={shown(value)}, where a TPU would be"
                    f" found, and there are no TPUs here. Leave {name} out, and pass use_tpu=False"
                    " to TPUEstimator."
                )
        if tpu_config is not None and not isinstance(tpu_config, TPUConfig):
            raise MoxTypeError(
                f"tf.estimator.tpu.RunConfig has tpu_config={shown(tpu_config)}; it must be a"
                " tf.estimator.tpu.TPUConfig."
            )
        super().__init__(**others)
        self.tpu_config = tpu_config or TPUConfig()

    def replace(self, **changes: Any) -> RunConfig:
        """Returns a copy with the given arguments changed."""
        own = changes.pop("tpu_config", self.tpu_config)
        other: Any = super().replace(**changes)
        other.tpu_config = own
        return other
