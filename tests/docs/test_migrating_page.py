"""The tables of the page on old programs are those that openmox makes now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import warm

TOOL = Path(__file__).parents[2] / "tools" / "migration.py"


def _run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return warm.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_page_is_up_to_date() -> None:
    result = _run("--check")

    assert result.returncode == 0, f"make migration writes the page anew\n{result.stderr}"


@pytest.mark.slow
def test_what_is_missing_is_listed(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text(
        "import tensorflow as tf\nimport numpy as np\n"
        "x = tf.placeholder(tf.float32)\ny = np.float(1)\ntf.no_such_name\n"
    )
    (tmp_path / "old.py").write_text(
        "import tensorflow as tf\nfrom tensorflow.contrib.tensor_forest import client\n"
        "try:\n    import tensorflow.no_such_module\nexcept ImportError:\n    pass\n"
        "import no_such_package\nprint tf.Session\n"
    )
    (tmp_path / "bad.py").write_text("x = = 1\n")
    result = _run(tmp_path)

    lines = result.stdout.splitlines()
    assert result.returncode == 1, result.stderr
    assert lines[0].split() == ["program", "files", "Python", "2", "unreadable", "names", "missing"]
    assert lines[1].split()[1:4] == ["3", "1", "1"]
    assert "1x tensorflow.no_such_name" in lines
    assert any(line.startswith("1x tensorflow.contrib.tensor_forest") for line in lines)
    assert not any("no_such_module" in line for line in lines)
    assert "    1x no_such_package" in lines
    assert any("bad.py: invalid syntax" in line for line in lines)
