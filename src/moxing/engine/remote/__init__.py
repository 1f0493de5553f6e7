"""A local directory that stands for a `log_dir` elsewhere while a run works in it."""

from __future__ import annotations

from moxing.engine.remote.log_dir import run_at_home
from moxing.engine.remote.path_alias import local_path

__all__ = ["local_path", "run_at_home"]
