"""A local directory that stands for a `log_dir` elsewhere while a run works in it."""

from __future__ import annotations

from moxing.engine.home.alias import local_path
from moxing.engine.home.home import run_at_home

__all__ = ["local_path", "run_at_home"]
