"""librosa as it was before 0.8: arguments by place, `rmse`, `output.write_wav` and reflections."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from moxing.legacy.face.faces import Spec

_OWN = "moxing.legacy.libraries.librosa_face"
# Functions that take their arguments by name only since 0.10, by module.
_BY_PLACE = {
    "": (
        *("amplitude_to_db", "autocorrelate", "cqt", "db_to_amplitude", "db_to_power"),
        *("fft_frequencies", "frames_to_samples", "frames_to_time", "get_duration", "griffinlim"),
        *("hz_to_mel", "iirt", "istft", "load", "mel_frequencies", "mel_to_hz", "power_to_db"),
        *("resample", "samples_to_frames", "samples_to_time", "stft", "time_to_frames"),
        *("time_to_samples", "to_mono", "tone", "zero_crossings"),
    ),
    "beat": ("beat_track", "tempo"),
    "effects": ("harmonic", "hpss", "pitch_shift", "split", "time_stretch", "trim"),
    "feature": (
        *("chroma_cqt", "chroma_stft", "delta", "melspectrogram", "mfcc", "poly_features"),
        *("rms", "spectral_bandwidth", "spectral_centroid", "spectral_contrast"),
        *("spectral_rolloff", "tonnetz", "zero_crossing_rate"),
    ),
    "filters": ("chroma", "constant_q", "dct", "mel"),
    "onset": ("onset_detect", "onset_strength"),
    "util": ("buf_to_float", "fix_length", "frame", "normalize", "pad_center", "peak_pick"),
}
# Padding was by reflection until 0.10.
_REFLECTED = ("melspectrogram", "mfcc", "rms", "stft")


def spec() -> Spec:
    """librosa; everything else is its own."""
    modules: dict[str, Any] = {
        module: Spec(roots=(f"librosa.{module}",), names=_wrapped(module, names), library=True)
        for module, names in _BY_PLACE.items()
        if module
    }
    modules["feature"].names["rmse"] = lambda: _by_place("feature", "rms")
    top = {
        **_wrapped("", _BY_PLACE[""]),
        "logamplitude": lambda: _by_place("", "power_to_db"),
    }
    modules["core"] = Spec(roots=("librosa.core",), names=top, library=True)
    modules["output"] = Spec(names={"write_wav": f"{_OWN}:write_wav"})
    return Spec(roots=("librosa",), names={**top, **modules}, library=True)


def _wrapped(module: str, names: tuple[str, ...]) -> dict[str, Callable[[], Any]]:
    return {name: (lambda name=name: _by_place(module, name)) for name in names}


def _by_place(module: str, name: str) -> Callable[..., Any]:
    """Returns a function of librosa that takes all of its arguments by place too."""
    import importlib

    function = getattr(importlib.import_module(f"librosa.{module}".rstrip(".")), name)
    places = list(inspect.signature(function).parameters)

    def called(*args: Any, **kwargs: Any) -> Any:
        kwargs.update(zip(places, args, strict=False))
        if name in _REFLECTED:
            kwargs.setdefault("pad_mode", "reflect")
        if name == "mel" and kwargs.get("norm", "slaney") == 1:
            kwargs["norm"] = "slaney"
        return function(**kwargs)

    called.__name__, called.__doc__ = name, function.__doc__
    return called


def write_wav(path: Any, y: Any, sr: int, norm: bool = False) -> None:
    """Writes a sound file of the array's own type.

    Args:
        path: a file's name, or an open file.
        y: the samples, as [samples] or [channels, samples].
        sr: samples a second.
        norm: whether to scale the largest sample to 1.
    """
    import numpy as np
    from scipy.io import wavfile

    y = np.asarray(y)
    if norm and np.issubdtype(y.dtype, np.floating):
        y = y / (np.abs(y).max() or 1)
    wavfile.write(path, sr, y.T if y.ndim > 1 else y)
