"""The whole life of a model in about a minute: train, resume, evaluate, export, predict.

Run by `make demo`. Each stage is the command a user would type, printed before it runs; the first
one that fails ends the demo. Everything is written to demo-output/, which starts out empty.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(os.path.relpath(Path(__file__).parent))
OUTPUT = Path("demo-output")
DATA, RUN = OUTPUT / "data", OUTPUT / "run"
FIRST_STEPS, ALL_STEPS = 400, 800
LEAST_ACCURACY = 0.95
# What TensorFlow's C++ part says about itself while it is imported; no level turns it off.
NOISE = re.compile(r"WARNING: All log messages before absl|[IWE]\d{4} .*(port|cuda\w*)\.cc:\d+\]")

console = Console(highlight=False)


class DemoError(Exception):
    """A stage that did not do what it should; the message says which and what."""


@dataclass
class Stage:
    """One command and what came of it."""

    name: str
    command: list[str]
    lines: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def run(self) -> Stage:
        """Runs the command, shows its lines as they come, and keeps them."""
        console.rule(f"[bold]{self.name}", align="left")
        console.print(f"$ {shlex.join(self.command)}", style="bold cyan", soft_wrap=True)
        started = time.monotonic()
        program = [str(Path(sys.executable).with_name(self.command[0])), *self.command[1:]]
        with subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                self.lines.append(line.rstrip("\n"))
                if not NOISE.match(line):
                    console.print(self.lines[-1], markup=False, soft_wrap=True)
        self.seconds = time.monotonic() - started
        if process.returncode != 0:
            raise DemoError(f"{self.name}: the command ended with exit code {process.returncode}.")
        return self

    def find(self, pattern: str) -> re.Match[str]:
        """The pattern's last match in the output."""
        *_, last = [None, *re.finditer(pattern, "\n".join(self.lines))]
        if last is None:
            raise DemoError(f"{self.name}: its output has nothing like {pattern!r}.")
        return last


def training(name: str, *flags: str) -> Stage:
    """A stage that runs train.py on the demo's data."""
    folders = [f"--data_url={DATA}", f"--train_url={RUN}", "--seed=1"]
    return Stage(name, ["mox", "run", str(HERE / "train.py"), *folders, *flags])


def speed(stage: Stage) -> str:
    """How fast a training ran at its end."""
    return f"{float(stage.find(r'global_step/sec: ([0-9.]+)')[1]):.0f} steps/s"


def show_results(stages: dict[str, Stage], accuracy: float, correct: int, total: int) -> None:
    """The table at the end, and where everything lies."""
    table = Table(title="openmox demo", title_justify="left")
    for heading in ("stage", "result", "time"):
        table.add_column(heading, justify="right" if heading == "time" else "left")
    results = {
        "data": "1,797 handwritten digits in MNIST's format",
        "train": f"to step {FIRST_STEPS}, {speed(stages['train'])}",
        "resume": f"from there to step {ALL_STEPS}, {speed(stages['resume'])}",
        "evaluate and export": f"accuracy {accuracy:.1%} on the test images",
        "predict": f"the export gets {correct} of {total} right",
    }
    for name, result in results.items():
        table.add_row(name, result, f"{stages[name].seconds:.1f} s")
    console.print(table)
    console.print(f"checkpoints and summaries   {RUN}/")
    console.print(f"exported model              {RUN}/1/")
    console.print(f"the program                 {HERE / 'train.py'}")


def check(stages: dict[str, Stage]) -> tuple[float, int, int]:
    """The accuracy, and how many of how many the export got right: the stages must agree."""
    resumed = int(stages["resume"].find(r"Restoring parameters from \S+-(\d+)")[1])
    if resumed != FIRST_STEPS:
        raise DemoError(f"resume: it went on from step {resumed}, not from {FIRST_STEPS}.")
    accuracy = float(stages["evaluate and export"].find(r"\taccuracy: ([\d.]+)")[1])
    if accuracy < LEAST_ACCURACY:
        raise DemoError(f"evaluate: accuracy {accuracy} is below {LEAST_ACCURACY}.")
    correct, total = map(int, stages["predict"].find(r"(\d+) of (\d+) test images").groups())
    if abs(correct / total - accuracy) > 0.5 / total:
        raise DemoError(f"predict: {correct} of {total} is not the accuracy {accuracy} before it.")
    return accuracy, correct, total


def main() -> None:
    shutil.rmtree(OUTPUT, ignore_errors=True)
    plan = [
        Stage("data", ["python", str(HERE / "make_data.py"), str(DATA)]),
        training("train", f"--steps={FIRST_STEPS}"),
        training("resume", f"--steps={ALL_STEPS}"),
        training("evaluate and export", "--run_mode=EVAL"),
        Stage("predict", ["python", str(HERE / "predict.py"), str(RUN / "1"), str(DATA)]),
    ]
    try:
        stages = {stage.name: stage.run() for stage in plan}
        show_results(stages, *check(stages))
    except DemoError as error:
        sys.exit(f"The demo failed. {error}")


if __name__ == "__main__":
    main()
