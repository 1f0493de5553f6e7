"""Videos of environments, as gym recorded them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled

from moxing.legacy.libraries.gym.video_recorder import VideoRecorder

# Keeps the arguments and the pictures in the file that is to be the video.
_FFMPEG = """#!/bin/sh
for last; do :; done
echo "$@" > "$last"
cat >> "$last"
"""


class Pictures:
    metadata = {"render.modes": ["human", "rgb_array"], "video.frames_per_second": 25}
    count = 0

    def render(self, mode: str) -> Any:
        assert mode == "rgb_array"
        self.count += 1
        return np.full((4, 6, 3), self.count, np.uint8)


@pytest.fixture
def ffmpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    program.write_text(_FFMPEG)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/bin{os.pathsep}/usr/bin")


@pytest.mark.usefixtures("ffmpeg")
def test_the_pictures_reach_the_video(tmp_path: Path) -> None:
    recorder = VideoRecorder(Pictures(), base_path=str(tmp_path / "run"), metadata={"step_id": 3})
    for _ in range(3):
        recorder.capture_frame()
    recorder.close()
    recorder.close()
    assert recorder.path == str(tmp_path / "run.mp4")
    first, _, pictures = Path(recorder.path).read_bytes().partition(b"\n")
    assert b"-s:v 6x4 -pix_fmt rgb24 -r 25 -i -" in first
    assert pictures == b"".join(bytes([number]) * 72 for number in (1, 2, 3))
    metadata = json.loads((tmp_path / "run.meta.json").read_text())
    assert metadata == {"step_id": 3, "content_type": "video/mp4"}


@pytest.mark.usefixtures("ffmpeg")
def test_without_pictures(tmp_path: Path) -> None:
    recorder = VideoRecorder(Pictures(), str(tmp_path / "none.mp4"))
    recorder.close()
    assert json.loads((tmp_path / "none.meta.json").read_text())["empty"]
    silent = VideoRecorder(object(), str(tmp_path / "silent.mp4"))
    silent.capture_frame()
    assert not silent.functional
    assert not (tmp_path / "silent.mp4").exists()
    with pytest.raises(ValueError, match="must end with '.mp4'"):
        VideoRecorder(Pictures(), str(tmp_path / "video.avi"))
    with pytest.raises(ValueError, match="give one of them"):
        VideoRecorder(Pictures(), "a.mp4", base_path="b")


def test_without_a_program_that_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DependencyNotInstalled, match="apt-get install ffmpeg"):
        VideoRecorder(Pictures(), str(tmp_path / "run.mp4"))


def test_programs_find_it(program: Any) -> None:
    values = program("from gym.wrappers.monitoring import video_recorder")
    assert values["video_recorder"].VideoRecorder is VideoRecorder
