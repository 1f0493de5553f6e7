"""Names in the pages of runs are text only, and files of a job have the modes of its umask."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)<;script>\"'&"
INSIDE = HOSTILE.replace(";", "/")
TRAIN = """
import sys
import tensorflow as tf
import moxing.tensorflow as mox

tf.flags.DEFINE_string("word", "", "any text")
tf.flags.DEFINE_string("to", "", "log_dir")

def input_fn(mode):
    return [tf.data.Dataset.from_tensors(1.0).repeat().batch(2).make_one_shot_iterator().get_next()]

def model_fn(inputs, mode):
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean((w - inputs[0]) ** 2)
    return mox.ModelSpec(loss=loss, log_info={"loss": loss, tf.flags.FLAGS.word + "_1": w})

mox.run(input_fn=input_fn, model_fn=model_fn, run_mode=mox.ModeKeys.TRAIN,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.1), log_dir=tf.flags.FLAGS.to,
        max_number_of_steps=4, log_every_n_steps=1, save_model_steps=2)
"""
MOX = (sys.executable, "-m", "moxing")


def mox(folder: Path, *words: str, umask: int | None = None) -> str:
    done = subprocess.run(
        [*MOX, *words],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder / "tmp"), "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        umask=-1 if umask is None else umask,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Page(HTMLParser):
    """The elements of a page, and the attributes that could run or load something."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.active: list[tuple[str, str, str | None]] = []
        self.text = path.read_text()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        for name, value in attrs:
            if name.startswith("on") or name in ("src", "srcdoc", "href", "action", "style"):
                self.active.append((tag, name, value))


@pytest.mark.slow
def test_names_put_no_element_into_the_pages_of_runs(tmp_path: Path) -> None:
    """Names of the script, the folder, a flag and a value, each beside one that is harmless."""
    (tmp_path / "tmp").mkdir()
    pages: dict[str, list[Page]] = {"plain": [], "odd": []}
    for kind, name, word in (("plain", "name", "word"), ("odd", HOSTILE, INSIDE)):
        (tmp_path / kind / name).mkdir(parents=True)
        (tmp_path / kind / name / f"{name}.py").write_text(TRAIN)
        logs = [f"{kind}/{name}/{name}{number}" for number in (1, 2)]
        for log in logs:
            mox(tmp_path, "run", f"{kind}/{name}/{name}.py", f"--word={word}", f"--to={log}")
        mox(tmp_path, "compare", f"--to={kind}/page.html", *logs)
        pages[kind] = [
            Page(path)
            for path in (tmp_path / logs[0] / "report.html", tmp_path / kind / "page.html")
        ]

    for plain, odd in zip(pages["plain"], pages["odd"], strict=True):
        assert "alert" in odd.text  # The names are there.
        assert odd.elements.keys() == plain.elements.keys()  # Charts have lines by their values.
        assert odd.elements["script"] == plain.elements["script"]
        assert set(odd.active) == set(plain.active)


@pytest.mark.slow
@pytest.mark.parametrize("umask", [0o077, 0o000, 0o027])
def test_files_have_the_modes_of_the_umask_but_for_private_ones(umask: int, tmp_path: Path) -> None:
    """Also under the most open umask, what others must not change stays the user's alone."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "train.py").write_text(TRAIN)

    mox(tmp_path, "launch", "--workers=2", "train.py", "--to=log/run", umask=umask)

    made = [path for name in ("log", "mox-logs") for path in (tmp_path / name).rglob("*")]
    names = {path.name for path in made}
    assert {"checkpoint", "model.ckpt-4.index", "run.json", "report.html"} <= names
    assert {"metrics.jsonl", "worker-0.log", "worker-1.log"} <= names
    for path in [*made, tmp_path / "log", tmp_path / "mox-logs"]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o777 if path.is_dir() else 0o666) & ~umask, (path, oct(mode))
    rest = {p for p in tmp_path.rglob("*") if p.name not in ("train.py", "log", "mox-logs", "tmp")}
    for path in rest - set(made):
        if not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode)
            assert not mode & 0o022 or path.parent != tmp_path / "tmp", (path, oct(mode))
