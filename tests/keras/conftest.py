"""What the tests of the Keras dialect share."""

from __future__ import annotations

import sys
from pathlib import Path

import moxing.keras  # noqa: F401

sys.path.insert(0, str(Path(__file__).parent))
