"""The report is one page that holds all of a run, opens offline and shows values to a pointer."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import runs
import tensorflow.compat.v1 as tf

from moxing.engine.job.job import EVAL, Loss, Model
from moxing.engine.reporting.records import page
from moxing.engine.reporting.records.history import History
from moxing.engine.reporting.records.line import EVAL as EVALUATION
from moxing.engine.reporting.records.line import TRAIN, Line

ODD = "<script>document.title='taken'</script>\"'&%%BODY%%"
FACTS: dict[str, Any] = {
    "job": {"mode": "TRAIN", "log_dir": "out"},
    "flags": {"--seed": 7},
    "environment": {"openmox": "9"},
    "outcome": {"end": "finished", "started": 1000.0, "ended": 1060.0, "last_step": 40},
}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class _Page(HTMLParser):
    """The text of a page, and what is wrong with it."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.feed(content)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.links += [v for name, v in attrs if name in ("src", "href", "data", "action")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


def _history(values: Mapping[str, Callable[[int], float]], steps: range) -> History:
    history = History()
    for step in steps:
        made = {name: function(step) for name, function in values.items()}
        history.add(Line(TRAIN, step, made, {"steps_per_second": 100.0}))
    return history


def _figures(content: str) -> list[ElementTree.Element]:
    found = re.findall(r"<svg.*?</svg>", content, re.DOTALL)
    return [ElementTree.fromstring(figure) for figure in found]


def test_values_lie_where_the_axes_say() -> None:
    content = page.render(FACTS, _history({"loss": float}, range(0, 50, 10)), [])
    svg = _figures(content)[0]
    texts = {t.text: t for t in svg.iter("text")}
    assert "global step" in texts
    assert "loss" in texts
    dots = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in svg.iter("circle")]
    assert len(dots) == 5
    for step, (x, y) in zip(range(0, 50, 10), dots, strict=True):
        across = [t for t in svg.iter("text") if t.get("text-anchor") == "middle"]
        upwards = [t for t in svg.iter("text") if t.get("text-anchor") == "end"]
        assert float(next(t for t in across if t.text == str(step)).attrib["x"]) == x
        assert float(next(t for t in upwards if t.text == str(step)).attrib["y"]) == y


def test_names_of_values_are_only_text() -> None:
    history = _history({ODD: float}, range(3))
    history.add(Line(EVALUATION, 3, {ODD: 1.0}, name=ODD))
    facts = {**FACTS, "job": {"mode": ODD, "log_dir": ODD}, "flags": {ODD: ODD}}
    facts["outcome"] = {"end": "failed", "error": ODD}
    content = page.render(facts, history, [])
    parsed = _Page(content)
    assert parsed.tags.count("body") == 1
    assert "taken'</script>" not in content
    assert "".join(parsed.text).count(ODD) >= 8


def test_nothing_is_loaded_from_elsewhere() -> None:
    content = page.render(FACTS, _history({"loss": float}, range(3)), [])
    assert all(link.startswith("#") for link in _Page(content).links)
    assert not re.findall(r"https?://|url\(|@import", content)


def test_what_is_not_finite_is_a_gap_and_is_told() -> None:
    values = [1.0, math.nan, 2.0, math.inf, 3.0]
    content = page.render(FACTS, _history({"loss": lambda step: values[step]}, range(5)), [])
    path = next(_figures(content)[0].iter("path"))
    assert path.attrib["d"].count("M") == 3
    assert "training: nan at step 1; not finite at 1 or more other steps." in content


def test_a_run_that_logged_nothing_has_a_page() -> None:
    text = "".join(_Page(page.render(FACTS, History(), [])).text)
    assert "Nothing was logged." in text
    assert "No evaluation was made." in text


def test_a_million_steps_stay_below_two_megabytes() -> None:
    history = _history({"loss": lambda step: math.sin(step) / (step + 1)}, range(1_000_000))
    content = page.render(FACTS, history, [])
    assert len(content.encode()) < 200_000
    assert len(_figures(content)) == 2


def test_forty_values_stay_below_two_megabytes() -> None:
    names = {f"value {number}": lambda step: math.sin(step * 1e9) * 1e-7 for number in range(40)}
    content = page.render(FACTS, _history(names, range(3000)), [])
    assert len(content.encode()) < 2_000_000
    assert len(_figures(content)) == 41


def test_a_thousand_values_stay_below_two_megabytes() -> None:
    names = {f"value {number}": float for number in range(1000)}
    content = page.render(FACTS, _history(names, range(1000)), [])
    assert len(content.encode()) < 2_000_000
    assert "700 more values are in metrics.jsonl." in content


def _fails_in_step_three(inputs: Any, mode: str) -> Model:
    def value(step: Any) -> Any:
        if step == 3:
            raise ValueError("no <b>luck</b> at https://me:secret@host/x")
        return step.astype("float32")

    step = tf.train.get_or_create_global_step()
    number = tf.py_func(value, [step], tf.float32)
    number.set_shape([])
    weight = tf.get_variable("w", [])
    return Model(losses=(Loss(weight * number),), log={"loss": number})


def test_a_run_that_fails_leaves_a_report(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.OpError):
        runs.execute(log_dir=tmp_path, model_fn=_fails_in_step_three, log_every=1)
    content = (tmp_path / "report.html").read_text()
    text = "".join(_Page(content).text)
    assert "failed" in text
    assert "no <b>luck</b> at https://host/x" in text
    assert "secret" not in content
    assert "secret" not in (tmp_path / "run.json").read_text()
    steps = [json.loads(one)["global_step"] for one in (tmp_path / "metrics.jsonl").open()]
    assert steps == [0, 1, 2]


def _asks_to_stop(inputs: Any, mode: str) -> Model:
    class Ask(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    return dataclasses.replace(runs.model_fn(inputs, mode), hooks=(Ask(),))


def test_a_run_that_is_stopped_leaves_a_report(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as raised:
        runs.execute(log_dir=tmp_path, model_fn=_asks_to_stop)
    assert raised.value.code == 143
    content = (tmp_path / "report.html").read_text()
    assert '<b class="bad">stopped by SIGTERM</b>' in content
    assert "model.ckpt-1" in content


def test_what_a_report_is_made_of_may_be_damaged(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    runs.execute(log_dir=tmp_path)
    (tmp_path / "run.json").write_text('{"format": 1, "job": 3')
    (tmp_path / "metrics.jsonl").write_bytes(b"\xff\n{}\nhalf")
    runs.execute(log_dir=tmp_path, mode=EVAL)
    assert "2 lines of metrics.jsonl could not be read." in (tmp_path / "report.html").read_text()
    (tmp_path / "report.html").unlink()
    (tmp_path / "report.html").mkdir()
    result = runs.execute(log_dir=tmp_path, max_steps=9)
    assert result.global_step == 9
    (said,) = [r.getMessage() for r in log.records if r.levelname == "WARNING"]
    assert said.startswith("No report of this run was written: [Errno 21] Is a directory: ")
    assert said.endswith(f" -> '{tmp_path}/report.html'")


def test_a_run_continued_and_evaluated_has_one_report(tmp_path: Path) -> None:
    runs.execute(log_dir=tmp_path, max_steps=25, settings={"--seed": 7})
    runs.execute(log_dir=tmp_path, max_steps=45, settings={"--seed": 8})
    runs.execute(log_dir=tmp_path, mode=EVAL, max_steps=4)
    lines = [json.loads(one) for one in (tmp_path / "metrics.jsonl").open()]
    steps = [one["global_step"] for one in lines if one["kind"] == "train"]
    assert steps == [0, 10, 20, 25, 35]
    assert [one["global_step"] for one in lines if one["kind"] == "evaluation"] == [45]
    text = "".join(_Page((tmp_path / "report.html").read_text()).text)
    for part in ("TRAIN", "--seed8", "model.ckpt-45", "evaluation", "TensorFlow2.21"):
        assert part in text.replace("\n", "")


def test_without_log_dir_there_are_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs.execute()
    assert list(tmp_path.iterdir()) == []


PROBE = """
<script>
const told = [];
addEventListener("error", (event) => told.push("error: " + event.message));
addEventListener("load", () => {
  const svg = document.querySelector("figure svg"), area = svg.getBoundingClientRect();
  const figure = svg.closest("figure"), tip = figure.querySelector(".tip");
  const cross = svg.querySelector(".cross");
  told.push("hidden: " + (tip.hidden && getComputedStyle(cross).display === "none"));
  for (const share of [0, 0.5, 1]) {
    const x = area.left + (68 + share * (640 - 68 - 16)) / 640 * area.width;
    svg.dispatchEvent(new PointerEvent("pointermove", {clientX: x, clientY: area.top + 50}));
    told.push(tip.innerText.replace(/\\s+/g, " ").trim());
  }
  told.push("shown: " + (!tip.hidden && getComputedStyle(cross).display !== "none"));
  svg.dispatchEvent(new PointerEvent("pointerleave"));
  told.push("left: " + tip.hidden);
  told.push("wide: " + (document.documentElement.scrollWidth <= innerWidth));
  told.push("requests: " + performance.getEntriesByType("resource").length);
  const wanted = document.createElement("pre");
  wanted.id = "told";
  wanted.textContent = JSON.stringify(told);
  document.body.append(wanted);
});
</script></body>"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
@pytest.mark.parametrize("width", [400, 1300])
def test_a_browser_shows_values_to_a_pointer(tmp_path: Path, width: int) -> None:
    history = _history({"loss": lambda step: step / 4, ODD: float}, range(0, 50, 10))
    history.add(Line(EVALUATION, 20, {"loss": 7.5}))
    content = page.render(FACTS, history, [])
    (tmp_path / "page.html").write_text(content.replace("</body>", PROBE))
    command = [
        str(CHROMIUM),
        *("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
        f"--user-data-dir={tmp_path}/profile",
        *(f"--window-size={width},900", "--virtual-time-budget=3000"),
        f"file://{tmp_path}/page.html",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    assert json.loads(found[1]) == [
        "hidden: true",
        "step 0 training: 0",
        "step 20 training: 5 evaluation: 7.5",
        "step 40 training: 10",
        "shown: true",
        "left: true",
        "wide: true",
        "requests: 0",
    ]
    assert "<title>TRAIN out</title>" in done.stdout
