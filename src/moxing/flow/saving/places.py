"""The file in a checkpoint's folder with the place of train jobs in their records.

The original does not write this file, and ignores it: there readers start over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from moxing.errors import CheckpointError

FILE = "readers.json"


def encoded(places: Mapping[str, Mapping[str, Any]]) -> bytes:
    """The content of the file.

    Args:
        places: for each job, `batches` that it took, and the `sources` of its readers.
    """
    return (json.dumps(places, indent=1) + "\n").encode()


def read(folder: str, named: str) -> dict[str, tuple[int, list[str]]]:
    """Reads the file of a checkpoint; returns an empty dict without a file.

    Args:
        folder: the folder of the checkpoint.
        named: the user's name for the folder.

    Returns:
        For each job, how many batches it took, and the sources of its readers.

    Raises:
        CheckpointError: the file can't be read.
    """
    try:
        with open(os.path.join(folder, FILE), encoding="utf-8") as stream:
            found = json.load(stream)
        return {
            job: (int(place["batches"]), [str(source) for source in place["sources"]])
            for job, place in found.items()
        }
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise CheckpointError(
            f"checkpoint {named}: its {FILE} can't be read ({error!r}). Delete the file, and the"
            " readers start with their first record."
        ) from error
