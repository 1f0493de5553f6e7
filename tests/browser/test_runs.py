"""The pages and outputs of runs in a browser: report, comparison, results in a notebook."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# Names as long as programs make them, and values of every size.
LONG = "tower_0/" + "resnet_v1_50/block4/unit_3/bottleneck_v1/" * 2 + "conv3/BatchNorm/moving_mean"
TRAIN = f"""
import sys
import moxing.tensorflow as mox
import tensorflow.compat.v1 as tf

def input_fn(mode):
    return tf.random.uniform((4,)), tf.ones((4,))

def model_fn(inputs, mode):
    x, y = inputs
    with tf.variable_scope("m"):
        w = tf.get_variable("w", (), initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(w * x - y))
    return mox.ModelSpec(loss=loss, log_info={{"loss": loss, {LONG!r}: 1e12 * loss}})

for number in range(2):
    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.1 * (number + 1)),
        run_mode=mox.ModeKeys.TRAIN,
        batch_size=4,
        log_dir=f"{{sys.argv[1]}}/{{'a_run_of_a_long_name_' * 4}}{{number}}",
        log_every_n_steps=5,
        max_number_of_steps=50,
    )
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the records of two runs, and the page that compares both."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "train.py").write_text(TRAIN)
    mox = [sys.executable, "-m", "moxing"]
    subprocess.run([*mox, "run", "train.py", "out"], cwd=folder, check=True, timeout=300)
    names = sorted(str(run.relative_to(folder)) for run in folder.glob("out/*"))
    assert len(names) == 2
    subprocess.run([*mox, "compare", *names], cwd=folder, check=True, timeout=100)
    return folder


@pytest.mark.slow
def test_reports_and_comparison(runs: Path, browser: Any, serve: Any, width: int) -> None:
    url = serve(runs)
    pages = ["compare.html", *(str(p.relative_to(runs)) for p in runs.glob("out/*/report.html"))]
    assert len(pages) == 3

    faults = {}
    for page in pages:
        browser.open(url + page, width)
        assert browser.driver.find_elements("css selector", "svg path")
        if found := browser.faults():
            faults[page] = found

    assert not faults


@pytest.mark.slow
def test_outputs_of_the_example_notebook(
    tmp_path: Path, browser: Any, serve: Any, width: int
) -> None:
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(ROOT / "examples" / "notebook.ipynb", as_version=4)
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", ())]
    shown = [one.data["text/html"] for one in outputs if "text/html" in one.get("data", {})]
    assert len(shown) > 1
    # As JupyterLab and notebooks on the web do, an output stands in a box of the page's width.
    boxes = "".join(f'<div style="overflow: visible">{html}</div>' for html in shown)
    (tmp_path / "index.html").write_text(f"<!doctype html><meta charset=utf-8>{boxes}")

    browser.open(serve(tmp_path), width)
    faults = browser.faults()
    for frame in browser.driver.find_elements("tag name", "iframe"):
        browser.driver.switch_to.frame(frame)
        faults += browser.faults()
        browser.driver.switch_to.default_content()

    assert not faults
