"""A run in cells of a real kernel: the example notebook, and cells that are interrupted."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

EXAMPLE = Path(__file__).parents[2] / "examples" / "notebook.ipynb"
INTERRUPTED = """
import os
import signal


class Interrupt(mox.AggregativeSessionRunHook):
    def run_inter_mode(self):
        return False

    # The kernel gets this signal when its user interrupts a cell.
    def after_run(self, run_context, run_values):
        self.steps = getattr(self, "steps", 0) + 1
        if self.steps == 50:
            os.kill(os.getpid(), signal.SIGINT)


def interrupted(inputs, mode):
    spec = model_fn(inputs, mode)
    return mox.ModelSpec(loss=spec.losses[0], log_info=spec.log_info, hooks=[Interrupt()])


result = mox.run(
    input_fn=input_fn,
    model_fn=interrupted,
    optimizer_fn=mox.get_optimizer_fn("adam", learning_rate=0.01),
    run_mode=mox.ModeKeys.TRAIN,
    batch_size=64,
    log_dir="output/interrupted",
    log_every_n_steps=1,
    max_number_of_steps=1000000,
)
print("steps", result.global_step, os.path.basename(result.checkpoint))
"""


def texts(cell: Any, kind: str = "text/plain") -> list[str]:
    """The outputs of a cell in a format, and with "stream" the text that it printed."""
    if kind == "stream":
        return ["".join(one.text for one in cell.outputs if one.output_type == "stream")]
    data = [one.data for one in cell.outputs if "data" in one]
    return [one[kind] for one in data if kind in one]


@pytest.mark.slow
def test_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = nbformat.read(EXAMPLE, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(INTERRUPTED))
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=400, resources=where).execute()

    train, evaluate, stopped = [cell for cell in notebook.cells if "mox.run(" in cell.source]
    line, result = texts(train)
    assert re.fullmatch(r"train 600/600 ━{16} 100% · .* samples/s · .*accuracy: [\d.]+", line)
    assert result.startswith("Result(global_step=600, steps=600")
    (html,) = texts(train, "text/html")
    assert html.startswith("<iframe")
    assert html.count("&lt;svg") == 2
    (log,) = texts(train, "stream")
    assert 20 <= log.count("INFO:tensorflow:step: ") < 30
    assert "global_step/sec" not in log
    assert re.search(r"\d+ log lines of steps are not shown in this cell", log)
    assert "loss" in texts(evaluate, "text/html")[0]

    (log,) = texts(stopped, "stream")
    assert "The cell was interrupted: the result is that of the steps so far." in log
    found = re.search(r"steps (\d+) model.ckpt-\1\n", log)
    assert found
    steps = int(found[1])
    assert 50 <= steps < 1000000
    assert os.path.exists(tmp_path / "output" / "interrupted" / f"model.ckpt-{steps}.index")


def test_the_example_was_executed() -> None:
    notebook = nbformat.read(EXAMPLE, as_version=4)
    runs = [cell for cell in notebook.cells if "mox.run(" in cell.source]
    assert all(texts(cell, "text/html") for cell in runs)
    assert not any(one.output_type == "error" for cell in runs for one in cell.outputs)
