"""`mox.cache`: writes checkpoints and summaries to the local disk first."""

from __future__ import annotations

from moxing.framework.file.configuration import tuning
from moxing.logs import TENSORFLOW

_wanted: list[bool] = []


def cache() -> None:
    """Makes every later run write its `log_dir` to a local cache first, and copy it from there.

    Each later `mox.run` writes checkpoints, summaries and exports to a directory on the local disk,
    below `MOX_FILE_CACHE_DIR`, `DLS_LOCAL_CACHE_PATH` or the system's temporary directory. A
    background thread copies them to `log_dir` during the run, and the run ends when all files are
    there. `s3://` and `obs://` directories are always cached; this call adds directories that only
    look local, such as a slow network mount.
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
