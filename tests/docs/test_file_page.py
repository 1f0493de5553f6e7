"""The page on mox.file tells of every variable that its code reads."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from moxing.framework import file

ROOT = Path(__file__).parents[2]
VARIABLE = re.compile(r"\"((?:[A-Z0-9]+_)+[A-Z0-9]+)\"")


def test_every_variable_and_argument_is_on_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "file.md").read_text(encoding="utf-8")
    code = ROOT / "src" / "moxing" / "framework" / "file" / "configuration"
    read = set()
    for name in ("settings.py", "tuning.py"):
        for line in (code / name).read_text(encoding="utf-8").splitlines():
            if "environment." in line or line.lstrip().startswith(('"S3_', '"AWS_', "or env")):
                read |= set(VARIABLE.findall(line))
    assert {"S3_ENDPOINT", "S3_CA_BUNDLE", "MOX_FILE_CACHE_DIR", "MOX_FILE_RETRY"} <= read
    assert [name for name in sorted(read) if f"`{name}`" not in page] == []
    arguments = set(inspect.signature(file.set_auth).parameters)
    # Told of in its docstring alone: what few need.
    rare = {"long_conn_mode", "path_style", "timeout_config", "unknown"}
    assert [name for name in sorted(arguments - rare) if f"`{name}`" not in page] == []
