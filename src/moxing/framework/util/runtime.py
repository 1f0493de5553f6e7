"""Log set-up under the name that old scripts import."""

from __future__ import annotations

import logging

from moxing import logs


def reset_logger(level: int | str | None = None) -> None:
    """Leaves one handler on the root logger; sets `level` if it is given."""
    logs.reset_logger()
    if level is not None:
        logging.getLogger().setLevel(level)
        logs.TENSORFLOW.setLevel(level)
