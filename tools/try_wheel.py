"""Installs a built wheel into a fresh environment and uses it there: `try_wheel.py DIST_FOLDER`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Of TensorFlow 1.x, with the dialect's import in another process: both must come from the wheel.
PROGRAM = """\
import tensorflow as tf

w = tf.get_variable("w", initializer=1.0)
step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(w))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(100):
        session.run(step)
    print("w: %.3f" % session.run(w))
"""


def run(command: list[str], folder: Path) -> str:
    """What a command prints; this process ends with its output where it fails."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def main(dist: Path) -> None:
    """Tries the only wheel of a folder."""
    wheels = sorted(dist.glob("*.whl"))
    archives = sorted(dist.glob("*.tar.gz"))
    if len(wheels) != 1 or len(archives) != 1:
        sys.exit(f"{dist} should hold one wheel and one sdist; it holds {os.listdir(dist)}.")
    with tempfile.TemporaryDirectory(prefix="openmox-wheel-") as name:
        folder = Path(name)
        tool = Path(__file__).with_name("make_venv.py")
        run([sys.executable, str(tool), str(folder / "venv")], Path.cwd())
        python = str(folder / "venv" / "bin" / "python")
        print(f"Installing {wheels[0].name} into a fresh environment")
        run([python, "-m", "pip", "install", "--quiet", str(wheels[0].resolve())], folder)
        (folder / "program.py").write_text(PROGRAM)
        mox = str(folder / "venv" / "bin" / "mox")
        printed = run([mox, "run", "program.py"], folder)
        if "w: 0.000" not in printed:
            sys.exit(f"The program should print w: 0.000; it printed:\n{printed}")
        run([python, "-c", "import moxing.tensorflow as mox; print(mox.file)"], folder)
        run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "openmox"], folder)
        left = [
            str(path) for path in folder.rglob("*") if path.name.startswith(("moxing", "openmox"))
        ]
        if left:
            sys.exit(f"pip uninstall leaves {left}.")
    print(f"{wheels[0]} and {archives[0]}: installed, used and removed.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
