"""scikit-image's old names and arguments; modules of today's signatures stand for the package."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

from moxing.legacy import libraries
from moxing.legacy.face.faces import Faces

IMAGE = np.linspace(0, 1, 12).reshape(2, 2, 3)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    seen: list[Any] = []

    def structural_similarity(
        im1: Any, im2: Any, *, win_size: Any = None, gradient: bool = False, **named: Any
    ) -> float:
        if named.get("data_range") is None and im1.dtype.kind == "f":
            raise ValueError("you must specify the data_range parameter")
        seen.append((win_size, named["data_range"], named["channel_axis"], named.get("full")))
        return 0.5

    def peak_signal_noise_ratio(image_true: Any, image_test: Any, *, data_range: Any = None) -> Any:
        seen.append(data_range)

    def normalized_root_mse(image_true: Any, image_test: Any, *, normalization: str) -> Any:
        seen.append(normalization)

    def mean_squared_error(image0: Any, image1: Any) -> float:
        return float(np.mean((image0 - image1) ** 2))

    def rescale(image: Any, scale: float, *, channel_axis: Any = None) -> Any:
        seen.append((scale, channel_axis))

    def dilation(image: Any, footprint: Any = None) -> Any:
        seen.append(footprint)

    def imread(fname: str, as_gray: bool = False) -> Any:
        seen.append((fname, as_gray))

    def gaussian(image: Any, sigma: float = 1, *, channel_axis: Any = None) -> Any:
        seen.append((sigma, channel_axis))

    def rgb2gray(rgb: Any) -> str:
        return "gray"

    functions = {
        "metrics": [structural_similarity, peak_signal_noise_ratio, normalized_root_mse],
        "transform": [rescale],
        "morphology": [dilation],
        "io": [imread],
        "filters": [gaussian],
        "color": [rgb2gray],
        "measure": [],
    }
    functions["metrics"].append(mean_squared_error)
    package = types.ModuleType("skimage")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "skimage", package)
    for name, members in functions.items():
        module = types.ModuleType(f"skimage.{name}")
        module.__dict__.update({member.__name__: member for member in members})
        setattr(package, name, module)
        monkeypatch.setitem(sys.modules, f"skimage.{name}", module)
    return seen


@pytest.fixture
def load(seen: list[Any]) -> Any:
    return Faces(libraries.specs()).load


def test_images_are_compared_under_their_old_names(load: Any, seen: list[Any]) -> None:
    measure = load("skimage.measure")

    # Floats were from -1 to 1, if nothing else was said.
    assert measure.compare_ssim(IMAGE, IMAGE, multichannel=True) == 0.5
    measure.compare_ssim(IMAGE, IMAGE, 7, data_range=1, full=True)
    measure.compare_ssim((IMAGE * 255).astype(np.uint8), IMAGE, dynamic_range=255)
    measure.structural_similarity(IMAGE, IMAGE, channel_axis=0)
    measure.compare_psnr(IMAGE, IMAGE)
    measure.compare_psnr(IMAGE, IMAGE, 255)
    measure.compare_psnr(IMAGE, IMAGE, dynamic_range=2)
    measure.compare_nrmse(IMAGE, IMAGE)
    measure.compare_nrmse(IMAGE, IMAGE, "min-max")

    assert seen[:4] == [(None, 2.0, -1, False), (7, 1, None, True), (None, 255, None, False)] + [
        (None, 2.0, 0, False)
    ]
    assert seen[4:] == [None, 255, 2, "euclidean", "min-max"]
    assert measure.compare_mse(IMAGE, IMAGE + 1) == 1


def test_old_arguments_are_taken(load: Any, seen: list[Any]) -> None:
    load("skimage.transform").rescale(IMAGE, 0.5, multichannel=True)
    load("skimage.transform").rescale(IMAGE, 0.5, multichannel=False)
    load("skimage.transform").rescale(IMAGE, 0.5, channel_axis=2)
    load("skimage.morphology").dilation(IMAGE, selem="disk")
    load("skimage.io").imread("a.png", as_grey=True)
    load("skimage.filters").gaussian_filter(IMAGE, 3, multichannel=True)
    load("skimage.filter").gaussian_filter(IMAGE, sigma=2)

    assert seen == [(0.5, -1), (0.5, None), (0.5, 2), "disk", ("a.png", True), (3, -1), (2, None)]
    assert load("skimage.color").rgb2grey(IMAGE) == "gray"
