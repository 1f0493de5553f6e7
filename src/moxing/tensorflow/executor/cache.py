"""`mox.cache`: write checkpoints and summaries to the local disk first."""

from __future__ import annotations

from moxing.framework.file.configuration import tuning
from moxing.logs import TENSORFLOW

_wanted: list[bool] = []


def cache() -> None:
    """From now on every `log_dir` is written to a local cache, and copied from there.

    Checkpoints, summaries and exports of each later `mox.run` go to a directory on the local disk,
    below `MOX_FILE_CACHE_DIR`, `DLS_LOCAL_CACHE_PATH` or the system's temporary directory. They are
    copied to `log_dir` in the background while the run goes on, and the run ends when all is there.
    For `s3://` and `obs://` this is so without this call, too; it adds directories that only look
    local, such as a slow network mount.
    """
    if not _wanted:
        _wanted.append(True)
        TENSORFLOW.info(
            "mox.cache(): checkpoints and summaries go to %s first, and to log_dir in the"
            " background. For s3:// and obs:// that is so without it, too.",
            tuning.staging_dir(),
        )


def wanted() -> bool:
    """Whether `cache` was called."""
    return bool(_wanted)
