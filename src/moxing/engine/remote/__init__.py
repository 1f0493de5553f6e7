"""Runs whose `log_dir` is in an object store: a local directory stands for it meanwhile."""

from __future__ import annotations

from moxing.engine.remote.log_dir import run_at_home
from moxing.engine.remote.path_alias import local_path

__all__ = ["local_path", "run_at_home"]
