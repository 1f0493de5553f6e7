"""Records a program's tf.distribute strategy without starting anything.

An old program makes its strategy when it is imported, and only passes it to RunConfig. At that
moment, TensorFlow's strategies look for devices, and some start a server; the classes here only
record their arguments. The first use as a strategy (`with strategy.scope():`) makes the real one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from moxing.cluster.platforms import tf_config
from moxing.errors import MoxNotSupportedError, MoxTypeError, shown

# Arguments of tf.contrib's strategies that the strategies of today no longer take.
_OF_CONTRIB = ("num_gpus", "num_gpus_per_worker")


class DistributeConfig(NamedTuple):
    """`tf.contrib.distribute.DistributeConfig`, for `RunConfig(experimental_distribute=...)`.

    Attributes:
        train_distribute: see `RunConfig`.
        eval_distribute: not used: one device of one process evaluates.
        remote_cluster: not used: TF_CONFIG lists the processes.
    """

    train_distribute: Any = None
    eval_distribute: Any = None
    remote_cluster: Any = None


class Strategy:
    """Base class of the recorded strategies.

    Args:
        *arguments, **keywords: the arguments of TensorFlow's strategy of the same name.
    """

    path = ""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self._arguments, self._keywords = arguments, keywords
        self._made: Any = None

    @property
    def devices(self) -> int | None:
        """The number of devices that the program asked for; None: all devices."""
        return None

    def real(self) -> Any:
        """Returns TensorFlow's own strategy, made at the first call."""
        if self._made is None:
            import tensorflow.compat.v1 as tf

            rename_master()
            kind: Any = tf.distribute
            for part in self.path.split("."):
                kind = getattr(kind, part)
            known = {k: v for k, v in self._keywords.items() if k not in _OF_CONTRIB}
            self._made = kind(*self._arguments, **known)
        return self._made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.real(), name)

    def __repr__(self) -> str:
        return f"<tf.distribute.{self.path} of openmox>"


class MirroredStrategy(Strategy):
    """Several devices of one process."""

    path = "MirroredStrategy"

    @property
    def devices(self) -> int | None:
        listed = self._arguments[0] if self._arguments else self._keywords.get("devices")
        if isinstance(listed, list | tuple):
            return len(listed)
        return _gpus(self._keywords)


class OneDeviceStrategy(Strategy):
    """One device."""

    path = "OneDeviceStrategy"

    @property
    def devices(self) -> int | None:
        return 1


class MultiWorkerMirroredStrategy(Strategy):
    """Several processes, each with several devices."""

    path = "experimental.MultiWorkerMirroredStrategy"

    @property
    def devices(self) -> int | None:
        return _gpus(self._keywords)


# The name of MultiWorkerMirroredStrategy in tf.contrib.
CollectiveAllReduceStrategy = MultiWorkerMirroredStrategy


class ParameterServerStrategy(Strategy):
    """Several processes with parameter servers; `--variable_update` selects how they are used."""

    path = "experimental.ParameterServerStrategy"


class CentralStorageStrategy(Strategy):
    """Several devices of one process that share variables."""

    path = "experimental.CentralStorageStrategy"


def _gpus(keywords: Mapping[str, Any]) -> int | None:
    """Returns the number of devices that a tf.contrib strategy's arguments ask for; None: all."""
    count = keywords.get("num_gpus", keywords.get("num_gpus_per_worker"))
    return count if isinstance(count, int) and count > 0 else None


def rename_master() -> None:
    """Renames the role "master" to "chief" in TF_CONFIG, which tf.distribute reads repeatedly."""
    text = os.environ.get(tf_config.SOURCE, "").strip()
    if text:
        os.environ[tf_config.SOURCE] = tf_config.with_chief(text)


def check(strategy: Any) -> Any:
    """Returns the value of `RunConfig(train_distribute=...)` if it is None or a strategy.

    Raises:
        MoxNotSupportedError: the strategy is for TPUs.
        MoxTypeError: the value is not a strategy.
    """
    if strategy is None or isinstance(strategy, Strategy):
        return strategy
    names = {kind.__name__ for kind in type(strategy).__mro__}
    if any("TPU" in name for name in names):
        raise MoxNotSupportedError(
            "RunConfig(train_distribute=TPUStrategy(...)): there are no TPUs here. Leave it out, or"
            " use tf.distribute.MirroredStrategy()."
        )
    if not any(name.startswith("Strategy") or name == "StrategyBase" for name in names):
        raise MoxTypeError(
            f"RunConfig(train_distribute={shown(strategy)}): it must be a strategy of"
            " tf.distribute, such as tf.distribute.MirroredStrategy()."
        )
    return strategy


def asked_devices(strategy: Any) -> int | None:
    """Returns the number of devices per process that a strategy asks for; None: all devices."""
    return strategy.devices if isinstance(strategy, Strategy) else None
