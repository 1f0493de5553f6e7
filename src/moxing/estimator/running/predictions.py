"""Yields the predictions of a model lazily."""

from __future__ import annotations

import dataclasses
import queue
import signal
import threading
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

from moxing import signals
from moxing.engine.graph import graph_keras
from moxing.engine.job.job import Job, Outputs
from moxing.errors import MoxValueError
from moxing.estimator.running.jobs import SINGLE
from moxing.flags import rehearsal

_TURN = 0.1
_END_SECONDS = 15.0  # Time for the current step to end after the caller closes the iterator.
_SIGNALED_SECONDS = 2.0  # The same, after a signal: a prediction has nothing to save.
_END: Any = object()


class _Closed(Exception):
    """The caller has closed the iterator of predictions."""


def predictions(job: Job, single_examples: bool) -> Iterator[Any]:
    """Yields the outputs of the job's model, step by step.

    The input may be infinite, so the run has its own thread, which waits until the caller takes the
    next values.

    Args:
        job: a PREDICT job, whose model outputs are the predictions.
        single_examples: whether to yield each example of a batch separately.
    """
    handed: queue.Queue[Any] = queue.Queue(1)
    closed = threading.Event()
    errors: list[BaseException] = []

    def hand(values: Any) -> None:
        while not closed.is_set():
            try:
                handed.put(values, timeout=_TURN)
                return
            except queue.Full:
                pass

    def output_fn(outputs: list[dict[str, Any]]) -> None:
        for values in outputs:
            hand(values)
        if closed.is_set():
            raise _Closed

    shown = dataclasses.replace(job, outputs=Outputs(output_fn, 1))

    def work() -> None:
        try:
            with graph_keras.shown():
                rehearsal.execute(lambda: shown)
        except _Closed:
            pass
        except BaseException as error:
            errors.append(error)
        hand(_END)

    thread = threading.Thread(target=work, name="predictions", daemon=True)
    thread.start()
    patience = _END_SECONDS
    try:
        while (values := _taken(handed)) is not _END:
            yield from _parted(values, single_examples)
        if errors:
            raise errors[0]
    except (SystemExit, KeyboardInterrupt):
        patience = _SIGNALED_SECONDS
        raise
    finally:
        closed.set()
        thread.join(patience)


def _taken(handed: queue.Queue[Any]) -> Any:
    """Takes the next values; SIGTERM ends the wait as Ctrl-C does, if no handler is set."""
    number = signal.SIGTERM
    if not signals.in_main_thread() or not signals.is_default(signal.getsignal(number)):
        return handed.get()
    with signals.handled((number,), _leave):
        return handed.get()


def _leave(number: int, frame: FrameType | None) -> None:
    # The default would end the process in the middle, and lose what it has printed.
    del frame
    raise SystemExit(signals.EXIT_BASE + number)


def _parted(values: Mapping[str, Any], single_examples: bool) -> Iterator[Any]:
    alone = set(values) == {SINGLE}
    if not single_examples:
        yield values[SINGLE] if alone else dict(values)
        return
    counts = {value.shape[0] if value.ndim else None for value in values.values()}
    if None in counts or len(counts) != 1:
        described = ", ".join(f"{name}: {list(value.shape)}" for name, value in values.items())
        raise MoxValueError(
            f"The predictions can't be divided into examples, for their first dimensions differ"
            f" ({described}). Pass yield_single_examples=False."
        )
    for index in range(counts.pop() or 0):
        one = {name: value[index] for name, value in values.items()}
        yield one[SINGLE] if alone else one
