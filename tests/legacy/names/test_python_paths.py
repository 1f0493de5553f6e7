"""Modules of tensorflow.python show programs of TensorFlow 1.x the classes of TensorFlow 1.x."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as current
from absl import flags as absl_flags

from moxing.legacy.face import catalog
from moxing.legacy.flags.command_line import CommandLine

PYTHON = Path(str(current.__file__)).parent / "python"
BRANCH = re.compile(r"^if _?tf2\.enabled\(\):\n((?: {2}.*\n)+)", re.MULTILINE)
CHOICE = re.compile(r"^  ([A-Za-z]\w*) = ([\w.]+)$", re.MULTILINE)


def choices() -> Iterator[tuple[str, str]]:
    """The public names whose values depend on TensorFlow 2's behavior when they are imported."""
    for path in sorted(PYTHON.rglob("*.py")):
        if "tf2.enabled()" not in (text := path.read_text(encoding="utf-8")):
            continue
        module = ".".join(path.relative_to(PYTHON).with_suffix("").parts)
        for branch in BRANCH.findall(text):
            for name, chosen in CHOICE.findall(branch):
                if chosen.lower().removesuffix("_v2").endswith(("v2", name.lower())):
                    yield module, name


FOUND = sorted(set(choices()))


def test_the_choices_are_found() -> None:
    assert ("framework.device", "DeviceSpec") in FOUND
    assert len(FOUND) > 8


@pytest.mark.parametrize(("module", "name"), FOUND)
def test_the_choice_is_that_of_version_1(module: str, name: str) -> None:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    shown = getattr(faces.load(f"tensorflow.python.{module}"), name)
    assert shown.__name__.lower().replace("_", "").endswith("v1")


def test_device_specs_can_be_changed() -> None:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    device = faces.load("tensorflow.python.framework.device")
    spec = device.DeviceSpec.from_string("/job:worker")
    spec.merge_from(device.DeviceSpec.from_string("/gpu:1"))
    assert spec.to_string() == "/job:worker/device:GPU:1"
