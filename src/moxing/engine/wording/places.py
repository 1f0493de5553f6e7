"""Words the messages about the position in the data when a run is resumed."""

from __future__ import annotations

from moxing.engine.wording.option_names import option

CHANGED = (
    "the pipeline is not that of the checkpoint (other operations, shapes, or numbers such as the"
    " size of a batch)"
)

FED = "a hook feeds its iterator"
NO_STATE = "the checkpoint has no state of it"
WAITED = "the earlier run was stopped while its input waited, and could not tell its state"
SHARED_ANEW = "other numbers of processes, devices or parts share each batch now"
ENDED = "that data had ended"
_NO_REASON = "Graph execution error"


def starts_over(steps: int, reason: str) -> str:
    """Said if a run goes on with the weights of an earlier run, but starts its data over."""
    return (
        f"the data of this run starts from its beginning, though an earlier run took {steps} steps"
        f" of it: {reason}"
    )


def skipped(steps: int, seconds: float, reason: str, again: int = 0) -> str:
    """Said after the data of earlier runs was read again and skipped.

    Args:
        steps: the number of steps whose data was skipped.
        seconds: the time that it took.
        reason: why the position was not restored.
        again: the number of elements behind them that this run takes once more.
    """
    more = f" The {again} elements behind it, too few for a step, are taken once more."
    return (
        f"Skipped the data of the {steps} steps before, in {seconds:.1f} s: it was read again and"
        f" dropped, because {reason}.{more if again else ''}"
    )


def still_skipping(done: int, batches: int) -> str:
    """Said while data is skipped, if that takes long."""
    return f"Skipping the data of steps before: batch {done} of {batches}."


def ended_before(done: int, batches: int) -> str:
    """Said if there is less data than earlier runs took."""
    return (
        f"The data ended after {done} batches, though an earlier run took {batches} of it: is it"
        " the same data?"
    )


def other_workers(before: int, now: int) -> str:
    """Says why the saved position is not used with another number of processes."""
    earlier = "1 process" if before == 1 else f"{before} processes"
    return (
        f"{earlier} took it and now there {'is' if now == 1 else 'are'} {now}. Each sample is still"
        " seen once where the processes divide one order (Dataset.shard behind shuffle with a seed,"
        " not in front)"
    )


def too_large(largest: int) -> str:
    """Says why the position is not saved: the state of the input is too large."""
    return f"its buffers hold more than {largest // 1_000_000} MB"


def counted_instead(reason: str) -> str:
    """Said once if only the number of elements is saved as the position."""
    return (
        f"Checkpoints keep the place in the data of {option('input_fn')} by the number of its"
        f" steps, because {reason}: a run that goes on reads the data before it again."
    )


def unreadable(reason: str) -> str:
    """Said if the position in a checkpoint can't be used."""
    return f"The place in the data that the checkpoint holds can't be read: {reason}."


def first_line(error: BaseException) -> str:
    """Returns the message of an error as one line without a period."""
    text = str(getattr(error, "message", None) or error).splitlines()
    told = [line.strip() for line in text if line.strip(": ") not in ("", _NO_REASON)]
    nodes = [number for number, line in enumerate(told[:-1]) if line.startswith("Node: ")]
    first = nodes[0] + 1 if nodes else 0  # TensorFlow's own words follow where a node was made.
    return (told[first] if told else type(error).__name__).rstrip(".")
