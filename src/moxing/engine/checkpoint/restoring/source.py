"""Decides which checkpoint a run starts from: its log_dir's, or that of its checkpoint_path."""

from __future__ import annotations

import difflib
import os
from dataclasses import replace

from moxing.engine.checkpoint import pointer
from moxing.engine.checkpoint.names import (
    MANIFEST,
    Checkpoint,
    indexed_prefixes,
    is_single_file,
    is_v1,
    prefix_of,
    present,
    step_of,
)
from moxing.engine.checkpoint.restoring import verify
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.wording import report
from moxing.engine.wording.option_names import option
from moxing.errors import CheckpointError
from moxing.logs import TENSORFLOW


def choose(
    log_dir: str | None, checkpoint_path: str | None, mode_is_train: bool
) -> Checkpoint | None:
    """The checkpoint to start from; None: the variables are to be initialized.

    The checkpoint of log_dir wins in every mode, and is returned with `resume=True`.

    Raises:
        CheckpointError: a mode other than training has no checkpoint, or the chosen checkpoint is
            damaged or missing.
    """
    own = newest(log_dir) if log_dir else None
    if own is not None:
        if checkpoint_path:
            _say_ignored(own, str(log_dir), checkpoint_path, mode_is_train)
        return replace(own, resume=True)
    if checkpoint_path:
        return locate(checkpoint_path)
    if mode_is_train:
        return None
    name = option("log_dir")
    where = f"{name} {log_dir!r} holds none" if log_dir else f"{name} is not set"
    raise CheckpointError(
        f"You must provide a checkpoint: {where} and checkpoint_path is not set. Set"
        f" checkpoint_path to a checkpoint file or a directory of checkpoints, or {name} to the"
        " directory of a training run."
    )


def locate(path: str) -> Checkpoint:
    """The checkpoint that a path from the user refers to.

    Args:
        path: a directory (its newest checkpoint), a prefix, any file of a checkpoint, or a single
            file of TensorFlow's V1 format.

    Raises:
        CheckpointError: the path leads to no checkpoint, or to a damaged one; the message says
            what was found.
    """
    if not path:
        raise CheckpointError(
            f"{option('checkpoint_path')} is empty. Set it to a checkpoint file or a directory of"
            " checkpoints."
        )
    full = os.path.expanduser(path)
    if os.path.isdir(full):
        found = newest(full)
        if found is None:
            raise CheckpointError(_nothing_in(path, full))
        return found
    prefix = _prefix(full)
    if prefix is None:
        raise CheckpointError(_missing(path, full))
    if why := verify.fault(prefix):
        raise CheckpointError(
            f"{option('checkpoint_path')} {path!r} is damaged: {why}. Copy it anew, or use another"
            " checkpoint."
        )
    return Checkpoint(prefix, step_of(prefix))


def _prefix(full: str) -> str | None:
    prefix = prefix_of(full)
    return prefix if present(prefix) or os.path.isfile(prefix + MANIFEST) else None


def _say_ignored(own: Checkpoint, log_dir: str, checkpoint_path: str, training: bool) -> None:
    other = _glance(checkpoint_path)
    if other is not None and os.path.realpath(other) == os.path.realpath(own.prefix):
        return
    TENSORFLOW.info("%s", report.ignoring_checkpoint_path(str(log_dir)))
    if not training and other is not None:
        TENSORFLOW.warning(
            "TWO CHECKPOINTS: this run uses %s of %s and NOT %s of checkpoint_path. To use the"
            " latter, set %s to a directory without checkpoints.",
            own.prefix,
            option("log_dir"),
            other,
            option("log_dir"),
        )


def _glance(path: str) -> str | None:
    """The prefix that a path most likely refers to, without reading or checking the checkpoint."""
    full = os.path.expanduser(path)
    if not os.path.isdir(full):
        return _prefix(full)
    target = pointer.read(full)
    if target is not None and target.fault is None and present(target.newest):
        return target.newest
    return next(iter(indexed_prefixes(full)), None)


def _nothing_in(path: str, full: str) -> str:
    name, target = option("checkpoint_path"), pointer.read(full)
    if target is not None and target.fault is None:
        beside = os.path.join(full, os.path.basename(target.newest))
        neither = f", nor is there {beside}" if beside != target.newest else ""
        return (
            f"{name} {path!r}: {target.path} names {target.newest}, which does not exist"
            f"{neither}. {_contents(full)} Set {name} to where the checkpoint is now."
        )
    return (
        f"{name} {path!r} is a directory without a checkpoint. {_contents(full)} Set {name}"
        " to a checkpoint file or a directory of checkpoints."
    )


def _missing(path: str, full: str) -> str:
    name, parent = option("checkpoint_path"), os.path.dirname(os.path.abspath(full))
    if not os.path.isdir(parent):
        return f"No checkpoint at {name} {path!r}: there is no directory {parent}."
    return f"No checkpoint at {name} {path!r}. {_contents(parent, os.path.basename(full))}"


def _contents(directory: str, near: str = "") -> str:
    """A sentence that lists the checkpoints in a directory, or its files if it has none."""
    checkpoints = [os.path.basename(prefix) for prefix in indexed_prefixes(directory)]
    names = sorted(os.listdir(directory))
    files = [os.path.join(directory, name) for name in names if ".ckpt" in name]
    whole = {prefix_of(path): None for path in files if is_single_file(path)}  # In order, once.
    checkpoints += [os.path.basename(prefix) for prefix in whole if is_v1(prefix)]
    if checkpoints:
        closest = difflib.get_close_matches(near, checkpoints, n=1, cutoff=0.0) if near else []
        ordered = closest + [name for name in checkpoints if name not in closest]
        return f"{directory} holds the checkpoints {_some(ordered)}."
    return f"{directory} holds {_some(names)}." if names else f"{directory} is empty."


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
