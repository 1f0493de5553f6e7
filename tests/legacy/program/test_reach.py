"""`mox run -m` of a package, with modules on PYTHONPATH and processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

FILES = {
    "translate/__init__.py": "",
    "translate/part.py": """
        import tensorflow as tf
        import shared
        found = tf.contrib is shared.tf.contrib
        """,
    "library/shared.py": "import tensorflow as tf\nimport oneflow as flow\n",
    "translate/evaluate.py": """
        import sys
        import tensorflow as tf
        print('evaluate', tf.placeholder.__name__, *sys.argv[1:], flush=True)
        """,
    "translate/train.py": """
        import multiprocessing
        import subprocess
        import sys
        import tensorflow as tf
        from . import part
        from .part import shared

        tf.flags.DEFINE_integer('steps', 1, '')

        def names(queue):
            queue.put((tf.contrib.slim.__name__, shared.flow.__name__, part.found))

        def main(argv):
            print(__package__, __spec__.name, tf.flags.FLAGS.steps, argv[1:], part.found)
            for way in ('fork', 'spawn'):
                context = multiprocessing.get_context(way)
                queue = context.Queue()
                process = context.Process(target=names, args=(queue,))
                process.start()
                print(way, *queue.get(timeout=120), flush=True)
                process.join()
            subprocess.check_call([sys.executable, 'translate/evaluate.py', '--x'])

        if __name__ == '__main__':
            tf.app.run()
        """,
}


def run(
    folder: Path, files: dict[str, str], *words: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Writes the files into the folder, and runs `mox run WORDS` there."""
    for name, source in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(textwrap.dedent(source))
    return subprocess.run(
        [sys.executable, "-m", "moxing", "run", *words],
        cwd=folder,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **variables},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.slow
def test_a_package_with_modules_on_pythonpath(tmp_path: Path) -> None:
    done = run(tmp_path, FILES, "-m", "translate.train", "--steps=3", "word", PYTHONPATH="library")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "translate translate.train 3 ['word'] True",
        "fork tensorflow.contrib.slim oneflow True",
        "spawn tensorflow.contrib.slim oneflow True",
        "evaluate placeholder --x",
    ]
    assert "starts translate/evaluate.py: it runs as `mox run` does." in done.stderr


SHELL_FILES = {
    "evaluate.py": """
        import sys
        import tensorflow as tf
        print('evaluate', tf.placeholder.__name__, *sys.argv[1:], flush=True)
        """,
    "old.py": "print 'python', 7 / 2\n",
    "other.py": "import sys\nprint('other', 'tensorflow' in sys.modules)\n",
    "train.py": """
        import os
        import sys
        import tensorflow as tf

        tf.placeholder
        assert os.system('python evaluate.py --system && python other.py') == 0
        print(os.popen('python -m evaluate --popen 2>&1').read().splitlines(), flush=True)
        os.execv(sys.executable, [sys.executable, 'old.py'])
        """,
}


@pytest.mark.slow
def test_programs_that_a_shell_starts(tmp_path: Path) -> None:
    here = os.path.dirname(sys.executable)
    folders = [folder for folder in os.environ["PATH"].split(os.pathsep) if folder != here]

    done = run(tmp_path, SHELL_FILES, "train.py", PATH=os.pathsep.join(folders))

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "evaluate placeholder --system",
        "other False",
        "['evaluate placeholder --popen']",  # No line of openmox's in an output that is read.
        "python 3",
    ]
    assert done.stderr.count("starts evaluate.py: it runs as `mox run` does.") == 1
    assert done.stderr.count("starts old.py: it runs as `mox run` does.") == 1
