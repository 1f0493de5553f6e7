"""Where a process's variables are and how its gradients meet those of other processes."""

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

# Every process counts its groups of collectives in the same order, so equal numbers meet.
_GROUPS = itertools.count(1)
# Numbers of groups that only this process is in.
_OWN_GROUPS = itertools.count(1_000_000)


@dataclass(frozen=True)
class TeamOps:
    """The operations by which the processes of a team agree, within a step, on when to stop.

    Attributes:
        wish: an operation that tells the other processes that this process wants to stop.
        agreed: scalar float32 tensor, above 0 in the step after which all processes stop: each
            process reads the same value in the same step. None if each process stops by itself.
    """

    wish: tf.Operation
    agreed: tf.Tensor | None


@dataclass(frozen=True)
class TrainStep:
    """One training step.

    Attributes:
        op: the update, and all operations that have to wait for the update.
        team: how processes agree on when to stop; None if this process is alone.
    """

    op: tf.Operation
    team: TeamOps | None = None


# Builds, from the models and the way their gradients meet, the operation that updates variables.
Update = Callable[[Spread], tf.Operation]


class Place:
    """The place of a process alone, and the base of the places of a process among others.

    A process alone has no device scope, and its only collectives are between its own devices.

    Args:
        together: whether the gradients of copied variables are summed in one group of all devices;
            None: only those of GPUs are.
    """

    index = 0
    size = 1
    is_chief = True
    device = ""

    # The container of a trial's variables, which are dropped after the trial; empty outside trials.
    trial = ""

    # Whether this process initializes the model's variables.
    initializes = True

    def __init__(self, together: bool | None = None) -> None:
        self._asked, self._all = together, next(_OWN_GROUPS)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """In the block, operations and variables are made on their devices."""
        with tf.container(self.trial):
            yield

    def train_step(
        self, parts: Sequence[Replica], data: Sequence[tf.Operation], update: Update
    ) -> TrainStep:
        """Builds a step; places among others add the wish to stop, and waits for other processes.

        Args:
            parts: the models.
            data: operations that fail where the input ends: no gradient goes out before them.
            update: builds the update; called once.
        """
        del data
        return TrainStep(update(Spread(parts, everywhere=self._everywhere(parts))))

    def _everywhere(self, parts: Sequence[Replica], compressed: bool = False) -> OneGroup | None:
        """The group of all devices of all processes; None if gradients meet in another way."""
        if len(parts) > 1 and not parts[1].copies:
            return None
        size = len(parts) * self.size
        found = hardware.exchange(devices.machine(), self._asked, size)
        if found is None:
            return None
        return OneGroup([part.device for part in parts], size, self._all, found, compressed)

    def _awaited(self, data: Sequence[tf.Operation]) -> tuple[tf.Operation, ...]:
        """Returns the operations that gradients wait for: none in a trial, which feeds its data."""
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
        size: the number of workers.
        compressed: whether gradients travel as float16.
        together: whether gradients are summed in one group of all devices; None: only those of GPUs
            are.
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
        """Builds a step that sends the wish to stop to all processes together with gradients."""
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
        size: the number of workers.
        servers: the number of parameter servers.
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
        del variables  # The servers hold one set of variables, which the chief has initialized.
        return tf.no_op()


class _OnServers:
    """A variable creator that puts each variable on the server with the fewest bytes so far.

    Every worker makes the same variables in the same order, so all workers choose the same servers.
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
