"""Saves how far a run has read its tf.data pipelines, and leads a later run to the same place.

A checkpoint holds TensorFlow's own state of each iterator, with the elements that wait in its
buffers. Where the state can't be saved, or is too large, a later run takes as many elements as were
taken, and drops them.
"""

from __future__ import annotations

import enum
import io
import json
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.data.pipelines import Pipeline, iterators, reads
from moxing.engine.graph import ancestry, run_context
from moxing.engine.wording import places
from moxing.logs import TENSORFLOW

LARGEST = 100_000_000  # Bytes of state in a checkpoint, above which elements are counted instead.

_IGNORE_STATE_OUTSIDE = 1
_SECONDS = 5.0  # For the state of all iterators; an input may wait for data that never comes.
_SAY_AFTER = 10.0
_FORMAT = 1
_FORMAT_BEHIND = 2  # Has a number of batches to drop after the state is restored.
_INDEX = "position.json"
_QUEUES = ("Dequeue", "Unstage", "ReaderRead")


class Kind(enum.Enum):
    """How a run keeps its place in its input.

    READER: openmox's readers start at the place themselves. STATE: checkpoints hold the state of
    the iterators. COUNT: checkpoints hold the number of batches, which a later run reads and drops.
    NONE: the place is lost, because the input comes from a queue or from Python code. NOTHING: the
    input has no place.
    """

    READER = "reader"
    STATE = "state"
    COUNT = "count"
    NONE = "none"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Place:
    """A place in the input, from a checkpoint.

    Attributes:
        steps: the number of steps whose data were taken.
        batches: the number of batches that each device took in these steps.
        state: the result of `Position.save`; None: nothing was saved.
        pipelines: the fingerprints of the pipelines; None: unknown.
        ended: whether the data ended there.
        workers: the number of processes that took the data, and of those that take it now; None:
            the same number.
        shared_anew: whether other numbers of processes or devices share each batch now.
        again: the number of elements, of all processes together, that were taken behind these
            batches: too few for a step of this run, they come again if batches are dropped.
    """

    steps: int
    batches: int
    state: bytes | None = None
    pipelines: tuple[str, ...] | None = None
    ended: bool = False
    workers: tuple[int, int] | None = None
    shared_anew: bool = False
    again: int = 0


class _Transfer:
    """The operations that read and set the state of an iterator.

    Attributes:
        state: the state, as a string.
        fed: the placeholder of a state to restore.
        restore: leads the iterator to the state in `fed`.
    """

    def __init__(self, iterator: tf.Operation) -> None:
        handle = iterator.outputs[0]
        with tf.name_scope(None), tf.device(iterator.device):
            state = tf.raw_ops.SerializeIterator(
                resource_handle=handle, external_state_policy=_IGNORE_STATE_OUTSIDE
            )
            self.state = tf.io.serialize_tensor(state)
            self.fed = tf.placeholder(tf.string, [])
            parsed = tf.io.parse_tensor(self.fed, tf.variant)
            self.restore = tf.raw_ops.DeserializeIterator(resource_handle=handle, serialized=parsed)


class Position:
    """The place of a run in its input. Make it in the graph, before the graph is finalized.

    Args:
        step: the operations that a step runs.
        positioned: whether openmox's readers start at the place themselves.

    Attributes:
        kind: how the place is kept; changes to COUNT where the state is too large or fails.
        pipelines: identifies the pipelines, to notice later that they have changed.
        again: the number of elements, of all processes together, that this run reads again.
    """

    def __init__(self, step: Iterable[tf.Operation | tf.Tensor], positioned: bool) -> None:
        targets = list(step)
        graph = tf.get_default_graph()
        self.pipelines: tuple[str, ...] = ()
        self._data: list[str] = []
        self.again = 0
        self._reads = [] if positioned else reads(targets)
        found = [] if positioned else [Pipeline(op) for op in iterators(targets, graph)]
        self._reasons = [reason for reason in (item.refusal() for item in found) if reason]
        self._writing: threading.Thread | None = None
        self._period = run_context.current().period
        if positioned:
            self.kind = Kind.READER
            return
        if not found:
            self.kind = self._without_iterators(targets)
            return
        mixed = bool(run_context.current().positioned)
        self.pipelines = tuple(item.fingerprint(values=not mixed) for item in found)
        self._data = [item.data() for item in found]
        self._initializers = [item.initializer for item in found]
        self.kind = Kind.COUNT if self._reasons else Kind.STATE
        if self.kind is Kind.STATE and sum(item.held_bytes() for item in found) > LARGEST:
            self._count_instead(places.too_large(LARGEST))
        self._transfers = [_Transfer(item.iterator) for item in found]

    def _without_iterators(self, targets: Iterable[Any]) -> Kind:
        for op in ancestry.behind(targets):
            if any(part in op.type for part in _QUEUES):
                self._reasons.append("it comes from a queue, which reads ahead")
                return Kind.NONE
            if "PyFunc" in op.type:
                self._reasons.append("Python code makes it in each step")
                return Kind.NONE
        return Kind.NOTHING

    def save(self, session: tf.Session) -> bytes | None:
        """Returns the state of all iterators; None unless `kind` is STATE. Never fails.

        The session must not be in a step.
        """
        if self.kind is not Kind.STATE or self._writing is not None:
            return None
        states = self._taken(session)
        if states is None:
            return None
        if sum(map(len, states)) > LARGEST:
            self._count_instead(places.too_large(LARGEST))
            return None
        return _encode(states, self.pipelines, self._data)

    def older(self, content: bytes, batches: int) -> bytes | None:
        """Adds to a saved place the number of batches that a later run reads from it and drops.

        Args:
            content: the result of an earlier call of `save`, for the same iterators.
            batches: the number of batches that each device has taken since.

        Returns:
            The place as `save` would return it; None unless `kind` is STATE.
        """
        if self.kind is not Kind.STATE:
            return None
        states, behind = _decode(content, self.pipelines, self._data)
        return _encode(states, self.pipelines, self._data, behind + batches)

    def _taken(self, session: tf.Session) -> list[bytes] | None:
        """Returns the states; None if TensorFlow can't serialize them, or takes too long."""
        result: list[Any] = []

        def take() -> None:
            try:
                result.append(session.run([transfer.state for transfer in self._transfers]))
            except Exception as error:
                result.append(error)

        self._writing = threading.Thread(target=take, name="position of input", daemon=True)
        self._writing.start()
        self._writing.join(_SECONDS)
        if self._writing.is_alive():
            self._count_instead(f"its state could not be read within {_SECONDS:.0f} seconds")
            return None
        self._writing = None
        if isinstance(result[0], BaseException):
            self._count_instead(places.first_line(result[0]))
            return None
        return list(result[0])

    def _count_instead(self, reason: str) -> None:
        self.kind = Kind.COUNT
        self._reasons.append(reason)
        TENSORFLOW.info("%s", places.counted_instead(reason))

    def restore(self, session: tf.Session, place: Place, stopped: Callable[[], bool]) -> bool:
        """Leads the iterators of a session, which are at their beginnings, to a place.

        Args:
            session: the session; no step has run in it.
            place: the place.
            stopped: whether the run is asked to stop meanwhile.

        Returns:
            Whether the data goes on at the place. If not, the log says why.
        """
        if self.kind in (Kind.READER, Kind.NOTHING) or not place.steps:
            return True
        if self.kind is Kind.NONE or place.ended:
            reason = places.ENDED if place.ended else self._reasons[0]
            TENSORFLOW.info("%s", places.starts_over(place.steps, reason))
            return False
        if place.pipelines is not None and place.pipelines != self.pipelines:
            TENSORFLOW.warning("%s", places.starts_over(place.steps, places.CHANGED))
            return False
        reason = self._reasons[0] if self._reasons else places.NO_STATE
        if place.workers is not None:
            reason = places.other_workers(*place.workers)
        if place.shared_anew:
            reason = places.SHARED_ANEW
        if place.state is not None:
            behind = self._restored(session, place.state)
            if behind is not None:
                steps = place.steps * behind // max(place.batches, 1)
                place = replace(place, steps=steps, batches=behind, again=0)
                reason = places.WAITED
        self.again = place.again
        return not place.batches + place.again or self._skip(session, place, stopped, reason)

    def _restored(self, session: tf.Session, content: bytes) -> int | None:
        """Restores a saved place, and returns the number of batches to read and drop from there.

        Returns None if the place could not be restored.
        """
        try:
            states, behind = _decode(content, self.pipelines, self._data)
            pairs = zip(self._transfers, states, strict=True)
            feeds = {transfer.fed: state for transfer, state in pairs}
            session.run([transfer.restore for transfer in self._transfers], feeds)
        except (tf.errors.OpError, ValueError, KeyError, zipfile.BadZipFile) as error:
            TENSORFLOW.warning("%s", places.unreadable(places.first_line(error)))
            again = [op for op in self._initializers if op is not None]
            session.run(again)
            return None
        return behind

    def _skip(
        self, session: tf.Session, place: Place, stopped: Callable[[], bool], reason: str
    ) -> bool:
        """Reads the elements that earlier runs took, and drops them; arguments as in `restore`."""
        if any(op.type.startswith("Placeholder") for op in ancestry.behind(self._reads)):
            TENSORFLOW.info("%s", places.starts_over(place.steps, places.FED))
            return False
        began = said = time.monotonic()
        batches = place.batches % self._period if self._period else place.batches
        done = 0
        try:
            while done < batches and not stopped():
                session.run(self._reads)
                done += 1
                if time.monotonic() - said > _SAY_AFTER:
                    said = time.monotonic()
                    TENSORFLOW.info("%s", places.still_skipping(done, batches))
        except tf.errors.OutOfRangeError:
            TENSORFLOW.warning("%s", places.ended_before(done, batches))
            return True
        seconds = time.monotonic() - began
        TENSORFLOW.info("%s", places.skipped(place.steps, seconds, reason, place.again))
        return True


def _encode(
    states: Iterable[bytes], pipelines: Iterable[str], data: Sequence[str], behind: int = 0
) -> bytes:
    """Returns a ZIP file of the states, with a member that identifies their pipelines.

    Args:
        states: the states of the iterators.
        pipelines: the fingerprints of the iterators' pipelines.
        data: identifies the arrays in the pipelines. TensorFlow's states hold these arrays, and an
            iterator that gets a state goes on with the state's.
        behind: the number of batches to read and drop after the states are restored.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        index: dict[str, Any] = {
            "format": _FORMAT,
            "pipelines": list(pipelines),
            "data": list(data),
        }
        if behind:
            index |= {"format": _FORMAT_BEHIND, "behind": behind}
        archive.writestr(_member(_INDEX), json.dumps(index))
        for number, state in enumerate(states):
            archive.writestr(_member(f"iterator-{number}"), state)
    return file.getvalue()


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name)  # Without a time: the same state makes the same bytes.


def _decode(content: bytes, pipelines: tuple[str, ...], data: list[str]) -> tuple[list[bytes], int]:
    """Returns the states in the bytes that `_encode` made, and the number of batches to drop.

    Raises:
        ValueError: the bytes have another format, or are of other pipelines or data.
        zipfile.BadZipFile: the bytes are damaged.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        index = json.loads(archive.read(_INDEX))
        if index["format"] not in (_FORMAT, _FORMAT_BEHIND):
            raise ValueError(f"its format is {index['format']}, which is not known here")
        if tuple(index["pipelines"]) != pipelines:
            raise ValueError("it is of other pipelines")
        if index.get("data", data) != data:  # Earlier versions did not write it.
            raise ValueError("it holds the data of then, and input_fn has other data now")
        states = [archive.read(f"iterator-{number}") for number in range(len(pipelines))]
        return states, int(index.get("behind", 0))
