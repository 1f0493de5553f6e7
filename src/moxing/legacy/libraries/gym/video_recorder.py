"""`gym.wrappers.monitoring.video_recorder`: an environment's pictures as a video, by ffmpeg."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from typing import Any

import numpy as np

from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW

_MODES = ("render.modes", "render_modes")
_RATES = ("video.frames_per_second", "render_fps")
_END_SECONDS = 60


class VideoRecorder:
    """Records a video of an environment, one picture a call of `capture_frame`.

    Args:
        env: the environment, which renders with the mode "rgb_array".
        path: the video file, whose name ends with ".mp4"; None: made of base_path.
        metadata: written beside the video, as JSON.
        enabled: whether anything is recorded.
        base_path: the path of the video without its ending; with neither, a temporary file.

    Attributes:
        path: the path of the video.
        metadata_path: the path of the JSON file.
        frames_per_sec: the number of pictures a second.

    Raises:
        MoxValueError: path and base_path are given, or the path does not end with ".mp4".
        gymnasium.error.DependencyNotInstalled: there is neither ffmpeg nor avconv.
    """

    def __init__(
        self,
        env: Any,
        path: str | None = None,
        metadata: dict[str, Any] | None = None,
        enabled: bool = True,
        base_path: str | None = None,
    ) -> None:
        if path is not None and base_path is not None:
            raise MoxValueError(f"path={path!r} and base_path={base_path!r}: give one of them.")
        facts = getattr(env, "metadata", None) or {}
        modes = [mode for name in _MODES for mode in facts.get(name, ())]
        self.env = env
        self.enabled = enabled and "rgb_array" in modes
        self.broken = False
        self.frames_per_sec = next((facts[name] for name in _RATES if facts.get(name)), 30)
        self.metadata = {**(metadata or {}), "content_type": "video/mp4"}
        self._encoder: subprocess.Popen[bytes] | None = None
        self.empty = True
        if enabled and not self.enabled:
            TENSORFLOW.info("No video of %s is recorded: it has no mode rgb_array.", env)
        self.path = path or _path(base_path)
        if not self.path.endswith(".mp4"):
            raise MoxValueError(f"the path {self.path!r} of a video must end with '.mp4'.")
        self.metadata_path = self.path.removesuffix(".mp4") + ".meta.json"
        if self.enabled:
            self._program = _program()
            self._write_metadata()

    @property
    def functional(self) -> bool:
        """Whether pictures are recorded."""
        return self.enabled and not self.broken

    def capture_frame(self) -> None:
        """Renders the environment, and adds the picture to the video."""
        if not self.functional:
            return
        picture = self.env.render(mode="rgb_array")
        if picture is None:
            self.broken = True
            return
        picture = np.ascontiguousarray(picture, np.uint8)
        if self._encoder is None:
            self._encoder = self._start(*picture.shape[:2])
        assert self._encoder.stdin is not None
        self._encoder.stdin.write(picture[..., :3].tobytes())
        self.empty = False

    def close(self) -> None:
        """Ends the video."""
        if not self.enabled:
            return
        if self._encoder is not None:
            self._encoder.communicate(timeout=_END_SECONDS)
            if self._encoder.returncode:
                self.broken = True
                TENSORFLOW.warning("%s could not write %s.", self._program, self.path)
            self._encoder = None
        if self.empty:
            self.metadata["empty"] = True
        self._write_metadata()
        self.enabled = False

    def _start(self, height: int, width: int) -> subprocess.Popen[bytes]:
        rate, size = str(self.frames_per_sec), f"{width}x{height}"
        raw = ["-f", "rawvideo", "-s:v", size, "-pix_fmt", "rgb24", "-r", rate, "-i", "-"]
        # Players want even sizes and this format of colors.
        made = ["-vf", "scale=trunc(iw/2)*2:trunc(ih/2)*2", "-pix_fmt", "yuv420p"]
        command = [self._program, "-nostats", "-loglevel", "error", "-y", *raw, *made, self.path]
        return subprocess.Popen(command, stdin=subprocess.PIPE)

    def _write_metadata(self) -> None:
        with open(self.metadata_path, "w", encoding="utf-8") as file:
            json.dump(self.metadata, file)


def _path(base_path: str | None) -> str:
    if base_path is not None:
        return base_path + ".mp4"
    handle, path = tempfile.mkstemp(suffix=".mp4")
    os.close(handle)
    return path


def _program() -> str:
    found = shutil.which("ffmpeg") or shutil.which("avconv")
    if found is None:
        from gymnasium.error import DependencyNotInstalled

        raise DependencyNotInstalled(
            "A video is recorded by ffmpeg, which is not installed: apt-get install ffmpeg."
        )
    return found
