"""scikit-image as it was before 0.19: `multichannel`, and names that moved or were renamed."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from moxing.legacy.face.faces import Spec

_OWN = "moxing.legacy.libraries.skimage.face"
# Functions that had `multichannel`, `selem`, `as_grey` or `visualise`, by module.
_CHANGED = {
    "exposure": ("adjust_gamma", "equalize_adapthist", "match_histograms"),
    "feature": ("hog",),
    "filters": ("gaussian", "median", "unsharp_mask"),
    "io": ("imread",),
    "metrics": ("structural_similarity",),
    "morphology": (
        *("black_tophat", "binary_closing", "binary_dilation", "binary_erosion"),
        *("binary_opening", "closing", "dilation", "erosion", "opening", "white_tophat"),
    ),
    "restoration": (
        *("cycle_spin", "denoise_bilateral", "denoise_nl_means", "denoise_tv_bregman"),
        *("denoise_tv_chambolle", "denoise_wavelet", "estimate_sigma"),
    ),
    "segmentation": ("random_walker", "slic"),
    "transform": (
        *("pyramid_expand", "pyramid_gaussian", "pyramid_laplacian", "pyramid_reduce"),
        *("rescale", "warp_polar"),
    ),
    "util": ("montage",),
}
_RENAMED = {"as_grey": "as_gray", "selem": "footprint", "visualise": "visualize"}


def spec() -> Spec:
    """scikit-image; everything else is its own."""
    modules: dict[str, Any] = {
        module: Spec(roots=(f"skimage.{module}",), names=_wrapped(module, names), library=True)
        for module, names in _CHANGED.items()
    }
    modules["color"] = Spec(
        roots=("skimage.color",), names={"rgb2grey": "skimage.color:rgb2gray"}, library=True
    )
    modules["filters"].names["gaussian_filter"] = lambda: _taking_old("filters", "gaussian")
    modules["filter"] = Spec(roots=("skimage.filters",), names=modules["filters"].names)
    modules["measure"] = Spec(
        roots=("skimage.measure",),
        names={
            "compare_mse": "skimage.metrics:mean_squared_error",
            **{name: f"{_OWN}:{name}" for name in ("compare_nrmse", "compare_psnr")},
            "compare_ssim": f"{_OWN}:compare_ssim",
            "structural_similarity": f"{_OWN}:compare_ssim",
        },
        library=True,
    )
    return Spec(roots=("skimage",), names=modules, library=True)


def _wrapped(module: str, names: tuple[str, ...]) -> dict[str, Callable[[], Any]]:
    return {name: (lambda name=name: _taking_old(module, name)) for name in names}


def _taking_old(module: str, name: str) -> Callable[..., Any]:
    """Returns a function of scikit-image that takes the arguments of 2018, too."""
    original = getattr(importlib.import_module(f"skimage.{module}"), name)

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        for old, new in _RENAMED.items():
            if old in kwargs:
                kwargs[new] = kwargs.pop(old)
        if "multichannel" in kwargs:
            kwargs["channel_axis"] = -1 if kwargs.pop("multichannel") else None
        return original(*args, **kwargs)

    return function


def compare_nrmse(im_true: Any, im_test: Any, norm_type: str = "Euclidean") -> float:
    """Returns the normalized root mean squared error of two images.

    Args:
        im_true: the right image.
        im_test: an image of the same shape.
        norm_type: "Euclidean", "min-max" or "mean".
    """
    from skimage import metrics  # type: ignore[import-not-found]

    return metrics.normalized_root_mse(im_true, im_test, normalization=norm_type.lower())


def compare_psnr(
    im_true: Any, im_test: Any, data_range: float | None = None, dynamic_range: float | None = None
) -> float:
    """Returns the peak signal to noise ratio of two images, in dB.

    Args:
        im_true: the right image.
        im_test: an image of the same shape.
        data_range: from the least value to the greatest; default: that of the type, which is 1 for
            floats without negative numbers and 2 for others.
        dynamic_range: the name of `data_range` until 0.12.
    """
    from skimage import metrics  # type: ignore[import-not-found]

    given = dynamic_range if data_range is None else data_range
    return metrics.peak_signal_noise_ratio(im_true, im_test, data_range=given)


def compare_ssim(
    X: Any,
    Y: Any,
    win_size: int | None = None,
    gradient: bool = False,
    data_range: float | None = None,
    multichannel: bool = False,
    gaussian_weights: bool = False,
    full: bool = False,
    dynamic_range: float | None = None,
    **kwargs: Any,
) -> Any:
    """Returns the mean structural similarity of two images.

    Args:
        X: an image.
        Y: an image of the same shape.
        win_size: the odd number of pixels of a window's side.
        gradient: whether the gradient by `Y` is returned, too.
        data_range: from the least value to the greatest; default: that of the type, which is 2
            for floats, as if they were from -1 to 1.
        multichannel: whether the last axis is that of channels.
        gaussian_weights: whether windows are Gaussian.
        full: whether the similarity of each pixel is returned, too.
        dynamic_range: the name of `data_range` until 0.12.
    """
    from skimage import metrics  # type: ignore[import-not-found]

    given = dynamic_range if data_range is None else data_range
    if given is None and np.issubdtype(np.asarray(X).dtype, np.floating):
        given = 2.0
    if "channel_axis" not in kwargs:
        kwargs["channel_axis"] = -1 if multichannel else None
    return metrics.structural_similarity(
        X,
        Y,
        win_size=win_size,
        gradient=gradient,
        data_range=given,
        gaussian_weights=gaussian_weights,
        full=full,
        **kwargs,
    )
