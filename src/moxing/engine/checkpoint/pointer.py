"""The file named `checkpoint`, by which TensorFlow's tools find the newest checkpoint."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf
from google.protobuf import text_format

from moxing.engine.checkpoint import durable
from moxing.engine.checkpoint.names import POINTER, present


@dataclass(frozen=True)
class Pointer:
    """The contents of a directory's pointer file.

    Attributes:
        path: path of the pointer file.
        fault: why the pointer file can't be used; None: it can.
        newest: prefix of the checkpoint that the pointer file names as the newest.
        listed: prefixes of all checkpoints that its writer kept, oldest first.
        written: modification time of the pointer file, in nanoseconds.
    """

    path: str
    fault: str | None = None
    newest: str = ""
    listed: tuple[str, ...] = ()
    written: int = 0


def read(directory: str) -> Pointer | None:
    """The pointer of a directory; None where there is none."""
    path = os.path.join(directory, POINTER)
    if os.path.exists(path) and not os.path.isfile(path):  # Opening a pipe would block.
        return Pointer(path, fault="is no file")
    try:
        with open(path, "rb") as file:
            content = file.read()
            written = os.fstat(file.fileno()).st_mtime_ns
    except FileNotFoundError:
        return None
    except OSError as error:
        return Pointer(path, fault=f"can't be read ({error.strerror})")
    if not content.strip():
        return Pointer(path, fault="is empty")
    state = _empty_state()
    try:
        text_format.Parse(content.decode(), state)
    except (text_format.ParseError, UnicodeDecodeError):
        return Pointer(path, fault="is torn or garbled")
    if not state.model_checkpoint_path:
        return Pointer(path, fault="names no checkpoint")
    listed = tuple(_resolve(directory, entry) for entry in state.all_model_checkpoint_paths)
    return Pointer(path, None, _resolve(directory, state.model_checkpoint_path), listed, written)


def write(directory: str, names: Sequence[str], aside: str) -> None:
    """Writes a pointer to the last of these names; relative names let the directory be moved."""
    state = _empty_state()
    state.model_checkpoint_path = names[-1]
    state.all_model_checkpoint_paths.extend(names)
    text = text_format.MessageToString(state, as_utf8=True)
    durable.replace(os.path.join(directory, POINTER), text.encode(), aside)


def _resolve(directory: str, entry: str) -> str:
    """The checkpoint prefix that an entry of the pointer file refers to.

    Entries that other programs write are often absolute paths. If a checkpoint of that name lies
    beside the pointer file, that checkpoint is meant: the directory was moved or copied, and the
    original may still exist elsewhere.
    """
    beside = os.path.join(directory, os.path.basename(entry))
    if os.path.isabs(entry) and present(beside):
        return beside
    return os.path.join(directory, entry)


def _empty_state() -> Any:
    # The only public way to the message's class.
    state = tf.train.generate_checkpoint_state_proto("", "-", ["-"])
    state.Clear()
    return state
