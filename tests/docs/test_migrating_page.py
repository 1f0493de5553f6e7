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
    # The module's own error, which is no ImportError, says that pygame is absent.
    (tmp_path / "game.py").write_text("from gym.utils.play import play\n")
    result = _run(tmp_path)

    lines = result.stdout.splitlines()
    assert result.returncode == 1, result.stderr
    assert lines[0].split() == ["program", "files", "Python", "2", "unreadable", "names", "missing"]
    assert lines[1].split()[1:4] == ["4", "1", "1"]
    assert "1x tensorflow.no_such_name" in lines
    assert any(line.startswith("1x tensorflow.contrib.tensor_forest") for line in lines)
    assert not any("no_such_module" in line for line in lines)
    assert "    1x no_such_package" in lines
    assert any("bad.py: invalid syntax" in line for line in lines)


@pytest.mark.slow
def test_handlers_matter_where_the_tried_names_are_missing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import tensorflow as tf\n"
        "try:\n    new = tf.Session\nexcept AttributeError:\n    new = tf.unneeded_name\n"
        "try:\n    old = tf.absent_name\nexcept AttributeError:\n    old = tf.constant\n"
        "try:\n    both = tf.absent_too\nexcept:\n    both = tf.absent_three\n"
        "try:\n    from tensorflow.contrib.rnn import GRUCell\n"
        "except ImportError:\n    from tensorflow.unneeded_module import GRUCell\n"
        "try:\n    import absent_package\nexcept ImportError:\n    import absent_second\n"
        "try:\n    import json\nexcept ImportError:\n    import unneeded_package\n"
        "try:\n    x = tf.needed_name\nexcept ValueError:\n    x = tf.needed_second\n"
        "else:\n    y = tf.needed_third\n"
    )
    result = _run(tmp_path)

    listed = {
        line.split()[1] for line in result.stdout.splitlines() if " " in line and "1x " in line
    }
    assert listed == {
        "absent_second",
        "tensorflow.absent_three",
        "tensorflow.needed_name",
        "tensorflow.needed_second",
        "tensorflow.needed_third",
    }
