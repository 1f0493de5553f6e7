"""This process's place among those that train together, as far as the graph knows of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import devices, hardware
from moxing.engine.parallel.one_group import OneGroup
from moxing.engine.parallel.reduce import AllReduce, Spread
from moxing.engine.parallel.replicas import Replica

# Collectives of one process are told apart by numbers that every process counts alike.
_GROUPS = itertools.count(1)
# A process alone counts for itself.
_OWN_GROUPS = itertools.count(1_000_000)


@dataclass(frozen=True)
class TeamOps:
    """What a step does with other processes beside its gradients.

    Attributes:
        wish: an operation by which this process says that it wants to stop.
        agreed: scalar float32 tensor, above 0 in the step after which all processes stop: each of
            them reads the same value in the same step. None: each stops by itself.
    """

    wish: tf.Operation
    agreed: tf.Tensor | None


@dataclass(frozen=True)
class TrainStep:
    """One training step.

    Attributes:
        op: the update, and all that has to wait for it.
        team: what the step does with other processes; None: there are none.
    """

    op: tf.Operation
    team: TeamOps | None = None


# From the models and the way their gradients meet to the operation that updates the variables.
Update = Callable[[Spread], tf.Operation]


class Place:
    """A process alone: no device scope, and no collectives but those between its devices.

    Args:
        together: whether copies of variables meet in one group of all devices; None: only if that
            is faster.
    """

    index = 0
    size = 1
    is_chief = True
    device = ""

    # The container of variables that are tried on one batch and thrown away; empty: it is no trial.
    trial = ""

    # Whether this process gives the model's variables their values, at the start.
    initializes = True

    def __init__(self, together: bool | None = None) -> None:
        self._asked, self._all = together, next(_OWN_GROUPS)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Where the graph's operations and variables are made."""
        with tf.container(self.trial):
            yield

    def train_step(
        self, parts: Sequence[Replica], data: Sequence[tf.Operation], update: Update
    ) -> TrainStep:
        """Builds a step: what travels with the gradients, the update, and what keeps processes
        together, in this order.

        Args:
            parts: the models.
            data: operations that fail where the input ends: no gradient goes out before them.
            update: builds the update; called once.
        """
        del data
        return TrainStep(update(Spread(parts, everywhere=self._everywhere(parts))))

    def _everywhere(self, parts: Sequence[Replica], compressed: bool = False) -> OneGroup | None:
        """The group of all devices of all processes; None: gradients meet in another way."""
        if len(parts) > 1 and not parts[1].copies:
            return None
        size = len(parts) * self.size
        found = hardware.exchange(devices.machine(), self._asked, size)
        if found is None:
            return None
        return OneGroup([part.device for part in parts], size, self._all, found, compressed)

    def _awaited(self, data: Sequence[tf.Operation]) -> tuple[tf.Operation, ...]:
        """What a gradient waits for; in a trial data is fed, and no input is read."""
        return () if self.trial else tuple(data)

    def give_values(self, variables: Sequence[tf.Variable]) -> tf.Operation:
        """Gives the chief's values to every process."""
        del variables
        return tf.no_op()


ALONE = Place()


class CollectivePlace(Place):
    """A worker with variables of its own; gradients are summed by collectives.

    Args:
        index: the worker's number.
        size: how many workers there are.
        compressed: whether gradients travel as float16.
        together: whether they meet in one group of all devices; None: only if that is faster.
    """

    def __init__(
        self, index: int, size: int, compressed: bool = False, together: bool | None = None
    ) -> None:
        super().__init__(together)
        self._compressed = compressed
        self.index, self.size, self.is_chief = index, size, index == 0
        self.device = f"/job:worker/replica:0/task:{index}"
        group = next(_GROUPS)
        self._all = next(_GROUPS)
        self.between = AllReduce(size, group, compressed)
        self.exact = AllReduce(size, group, _keys=itertools.count(1_000_000))

    @contextmanager
    def scope(self) -> Iterator[None]:
        with super().scope(), tf.device(self.device):
            yield

    def train_step(
        self, parts: Sequence[Replica], data: Sequence[tf.Operation], update: Update
    ) -> TrainStep:
        everywhere = self._everywhere(parts, self._compressed)
        awaited = self._awaited(data)
        spread = Spread(parts, self.between, data=awaited, apart=True, everywhere=everywhere)
        return self.with_wish(spread, update)

    def with_wish(self, spread: Spread, update: Update) -> TrainStep:
        """A step with whose gradients the wish to stop travels to all processes."""
        carrier = spread.everywhere or self.between
        with tf.device("/cpu:0"):
            wish = _local_flag()
            carrier.rider = wish.read_value()
        op = update(spread)
        return TrainStep(op, TeamOps(wish.assign(1.0).op, carrier.sum_of_riders()))

    def give_values(self, variables: Sequence[tf.Variable]) -> tf.Operation:
        given = []
        for variable in sorted(variables, key=lambda item: item.name):
            if variable.dtype.base_dtype == tf.string:
                continue
            with tf.device(variable.device):
                value = self.exact.give(variable.read_value(), self.is_chief)
                given.append(value.op if self.is_chief else variable.assign(value).op)
        return tf.group(*given)


class ServerPlace(Place):
    """A worker whose variables live on parameter servers.

    Args:
        index: the worker's number.
        size: how many workers there are.
        servers: how many parameter servers there are.
        synchronous: whether workers update together: gradients are summed by collectives, the
            chief updates the variables, and the others wait for it.
        compressed: whether summed gradients travel as float16.
    """

    def __init__(
        self, index: int, size: int, servers: int, synchronous: bool, compressed: bool = False
    ) -> None:
        super().__init__(together=False)
        self.index, self.size, self.is_chief = index, size, index == 0
        self.device = f"/job:worker/replica:0/task:{index}"
        self.initializes = self.is_chief
        self._servers = servers
        self._together = CollectivePlace(index, size, compressed, False) if synchronous else None

    @contextmanager
    def scope(self) -> Iterator[None]:
        on_servers = tf.variable_creator_scope(_OnServers(self._servers))
        with super().scope(), tf.device(self.device), on_servers:
            yield

    def train_step(
        self, parts: Sequence[Replica], data: Sequence[tf.Operation], update: Update
    ) -> TrainStep:
        together = self._together
        if together is None:
            op = update(Spread(parts))
            with tf.device("/cpu:0"):
                return TrainStep(op, TeamOps(_local_flag().assign(1.0).op, None))
        data = self._awaited(data)
        spread = Spread(parts, together.between, applies=self.is_chief, data=tuple(data))

        def awaited_by_all(spread: Spread) -> tf.Operation:
            with tf.control_dependencies([update(spread)]):
                done = tf.constant(1.0) + 0.0
            return together.exact.sum(done).op

        return together.with_wish(spread, awaited_by_all)

    def give_values(self, variables: Sequence[tf.Variable]) -> tf.Operation:
        del variables  # There is one set of them, which the chief gives its values.
        return tf.no_op()


class _OnServers:
    """A variable creator that gives each variable to the server that has least to hold.

    Every worker makes the same variables in the same order, so all choose alike.
    """

    def __init__(self, servers: int) -> None:
        self._loads = [0] * servers

    def __call__(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        collections = kwargs.get("collections")
        if collections is not None and tf.GraphKeys.LOCAL_VARIABLES in collections:
            return next_creator(**kwargs)
        server = self._loads.index(min(self._loads))
        with tf.device(f"/job:ps/replica:0/task:{server}/device:CPU:0"):
            variable = next_creator(**kwargs)
        shape = variable.shape
        size = shape.num_elements() if shape.is_fully_defined() else 1
        self._loads[server] += (size or 1) * variable.dtype.size
        return variable


def _local_flag() -> tf.Variable:
    return tf.get_variable(
        "openmox/wish",
        shape=[],
        initializer=tf.zeros_initializer(),
        trainable=False,
        use_resource=True,
        collections=[tf.GraphKeys.LOCAL_VARIABLES],
    )
