"""`python -m moxing` is the `mox` command."""

from __future__ import annotations

import sys

from moxing.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
