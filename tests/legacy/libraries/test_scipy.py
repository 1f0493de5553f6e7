"""SciPy 1.0's functions, against its documentation and Pillow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage
import scipy.special
from PIL import Image, ImageFilter

from moxing.legacy.libraries import scipy_images as images
from moxing.legacy.libraries import scipy_splines


def test_bytescale_as_its_documentation_shows() -> None:
    img = np.array(
        [
            [91.06794177, 3.39058326, 84.4221549],
            [73.88003259, 80.91433048, 4.88878881],
            [51.53875334, 34.45808177, 27.5873488],
        ]
    )

    assert images.bytescale(img).tolist() == [[255, 0, 236], [205, 225, 4], [140, 90, 70]]
    assert images.bytescale(img, high=200, low=100).tolist() == [
        [200, 100, 192],
        [180, 188, 102],
        [155, 135, 128],
    ]
    assert images.bytescale(img, cmin=0, cmax=255).tolist() == [
        [91, 3, 84],
        [74, 81, 5],
        [52, 34, 28],
    ]
    assert images.bytescale(np.full((2, 2), 7.0)).tolist() == [[0, 0], [0, 0]]
    whole = np.array([[3, 200]], np.uint8)
    assert images.bytescale(whole) is whole


@pytest.mark.parametrize(
    "arguments", [{"high": 256}, {"low": -1}, {"high": 1, "low": 2}, {"cmin": 2, "cmax": 1}]
)
def test_bytescale_refuses(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="should be"):
        images.bytescale(np.zeros((1, 2)), **arguments)


def test_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    color = rng.integers(0, 256, (5, 7, 3), np.uint8)
    gray = rng.random((4, 6))
    images.imsave(tmp_path / "c.png", color)
    images.imsave(str(tmp_path / "g.png"), gray)
    with open(tmp_path / "f.bin", "wb") as file:
        images.imsave(file, color, format="png")

    assert (images.imread(tmp_path / "c.png") == color).all()
    assert (images.imread(tmp_path / "f.bin") == color).all()
    assert (images.imread(tmp_path / "g.png") == images.bytescale(gray)).all()
    flat = images.imread(tmp_path / "c.png", flatten=True)
    assert flat.dtype == np.float32
    np.testing.assert_allclose(flat, color @ np.array([299, 587, 114]) / 1000, atol=1)
    assert images.imread(tmp_path / "c.png", mode="L").shape == (5, 7)
    Image.fromarray(color).convert("P").save(tmp_path / "p.png")
    assert images.imread(tmp_path / "p.png").shape == (5, 7, 3)
    Image.new("1", (3, 2), 1).save(tmp_path / "1.png")
    assert images.imread(tmp_path / "1.png").tolist() == [[255] * 3] * 2


def test_images_of_arrays() -> None:
    color = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    assert (np.array(images.toimage(color)) == color).all()
    assert (np.array(images.toimage(np.moveaxis(color, 2, 0))) == color).all()
    assert images.toimage(np.zeros((2, 2, 4))).mode == "RGBA"
    assert images.toimage(color, mode="YCbCr").mode == "YCbCr"
    assert images.toimage(np.zeros((2, 3)), mode="P").mode == "P"
    assert np.array(images.toimage(np.eye(3), mode="F")).tolist() == np.eye(3).tolist()
    assert np.array(images.toimage(np.eye(9), mode="1")).tolist() == np.eye(9, dtype=bool).tolist()
    assert np.array(images.toimage(np.eye(2), mode="I")).tolist() == [[255, 0], [0, 255]]
    # A batch of one is an array of height 1 whose channels are found by their number.
    assert images.toimage(np.zeros((1, 3, 8))).size == (8, 1)
    for shape, mode in (((2,), None), ((2, 2, 2), None), ((2, 2), "RGB"), ((2, 2, 3), "CMYK")):
        with pytest.raises(ValueError, match="arr|shape for mode"):
            images.toimage(np.zeros(shape), mode=mode)
    with pytest.raises(ValueError, match="complex"):
        images.toimage(np.zeros((2, 2), complex))
    with pytest.raises(TypeError, match="PIL"):
        images.fromimage(np.zeros((2, 2)))  # type: ignore[arg-type]


def test_sizes() -> None:
    rng = np.random.default_rng(1)
    color = rng.integers(0, 256, (20, 30, 3), np.uint8)
    image = Image.fromarray(color)

    assert images.imresize(color, 50).shape == (10, 15, 3)
    assert images.imresize(color, 0.1).shape == (2, 3, 3)
    assert images.imresize(color, np.float32(2)).shape == (40, 60, 3)
    for name, filter in (("bilinear", 2), ("nearest", 0), ("bicubic", 3), ("lanczos", 1)):
        expected = np.array(image.resize((9, 8), Image.Resampling(filter)))
        assert (images.imresize(color, (8, 9), interp=name) == expected).all()
    # Numbers that are no bytes fill the whole range, also where they did not.
    assert images.imresize(np.array([[1.0, 2.0]]), (1, 2), "nearest").tolist() == [[0, 255]]
    kept = images.imresize(np.array([[1.0, 2.0]]), (1, 2), "nearest", mode="F")
    assert kept.tolist() == [[1.0, 2.0]]
    assert (images.imrotate(color, 90, "nearest") == np.array(image.rotate(90))).all()
    assert (images.imfilter(color, "blur") == np.array(image.filter(ImageFilter.BLUR))).all()
    with pytest.raises(ValueError, match="Unknown filter"):
        images.imfilter(color, "none")


def test_names(program: Any) -> None:
    values = program(
        """
        import scipy, scipy.misc, scipy.io
        import numpy as np
        from scipy import misc, ndimage
        from scipy.misc import imread, imresize, logsumexp
        from scipy.misc.pilutil import imsave
        from scipy.sparse.linalg.eigen.arpack import ArpackNoConvergence
        same = (misc.imread is imread is scipy.misc.imread is ndimage.imread,
                scipy.misc.imsave is imsave)
        total = logsumexp([0., 0.])
        choose = misc.comb(5, 2), misc.factorial(4)
        slope = misc.derivative(lambda x: x ** 3 + x ** 2, 1.0, dx=1e-6)
        bend = misc.derivative(lambda x: x ** 4, 2.0, dx=0.01, n=2, order=5)
        weights = misc.central_diff_weights(3).tolist()
        root, summed = scipy.sqrt(-1), scipy.array([1, 2]).sum()
        window = scipy.signal.gaussian(5, 1.0)
        area = scipy.integrate.trapz([1, 2, 3])
        counts = scipy.stats.itemfreq([1, 1, 5]).tolist()
        moved = ndimage.filters.gaussian_filter(np.eye(3), 1)
        """
    )

    assert values["same"] == (True, True)
    assert values["total"] == scipy.special.logsumexp([0.0, 0.0])
    assert values["choose"] == (10, 24)
    assert values["slope"] == pytest.approx(5, abs=1e-4)
    assert values["bend"] == pytest.approx(48, abs=1e-3)
    assert values["weights"] == [-0.5, 0.0, 0.5]
    assert (values["root"], values["summed"], values["area"]) == (1j, 3, 4.0)
    assert values["window"][2] == 1
    assert values["counts"] == [[1, 2], [5, 1]]
    assert (values["moved"] == scipy.ndimage.gaussian_filter(np.eye(3), 1)).all()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("scipy.misc.face", "scipy.datasets.face downloads that picture"),
        ("scipy.integrate.simps", "scipy.integrate.simpson"),
        ("scipy.misc.imreed", "Did you mean 'imread'"),
    ],
)
def test_what_is_gone_is_said(faces: Any, name: str, sentence: str) -> None:
    module, _, attribute = name.rpartition(".")
    with pytest.raises(AttributeError, match=sentence):
        getattr(faces.load(module), attribute)


def test_images_are_shown_by_the_command_of_the_variable(
    faces: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    array = np.array([[0, 50], [100, 255]], np.uint8)
    copy = tmp_path / "seen.png"
    viewer = tmp_path / "viewer"
    viewer.write_text(f'#!/bin/sh\ntest "$1" = -n && cp "$2" {copy}\n')
    viewer.chmod(0o755)

    monkeypatch.setenv("SCIPY_PIL_IMAGE_VIEWER", f"{viewer} -n")
    faces.load("scipy.misc").imshow(array)
    assert np.asarray(Image.open(copy)).tolist() == array.tolist()
    monkeypatch.setenv("SCIPY_PIL_IMAGE_VIEWER", str(tmp_path / "absent"))
    with pytest.raises(RuntimeError, match="absent' of .SCIPY_PIL_IMAGE_VIEWER failed"):
        images.imshow(array)


def test_a_spline_is_the_smoothest_of_all_through_the_points() -> None:
    interpolate = scipy_splines
    places = np.array([0, 1, 2.5, 3, 4, 6])
    everywhere = np.linspace(0, 6, 25)
    cubes = interpolate.spline(places, np.stack([places**3, places], 1), everywhere)
    np.testing.assert_allclose(cubes, np.stack([everywhere**3, everywhere], 1), atol=1e-9)
    # By hand: a quadratic spline with slope b at 0 has jumps 2b - 4 and 9 - 2b, so b is 3.25.
    found = interpolate.spline([0, 1, 2, 3], [0, 1, 0, 2], [0.5, 1.5, 4], order=2)
    np.testing.assert_allclose(found, [1.0625, 0.4375, 0])
    with pytest.raises(ValueError, match="make_interp_spline"):
        interpolate.spline([0, 1], [0, 1], [0.5], kind="natural")


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_a_function_of_two_variables_goes_through_its_points(kind: str) -> None:
    x, y = np.arange(5.0), np.arange(4.0) * 2

    def plane(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 3 * x[None] - y[:, None] + 1 + x[None] * y[:, None]

    grid = scipy_splines.interp2d(x[::-1], y, plane(x[::-1], y), kind=kind)
    at_x, at_y = np.array([3.5, 0.25]), np.array([1.0, 5.5])
    np.testing.assert_allclose(grid(at_x, at_y), plane(np.sort(at_x), at_y), atol=1e-9)
    np.testing.assert_allclose(grid(9, -1), plane(x[-1:], y[:1])[0])
    filled = scipy_splines.interp2d(x, y, plane(x, y), kind=kind, fill_value=-7.0)
    np.testing.assert_allclose(filled([1, 9], 0), [4, -7])
    strict = scipy_splines.interp2d(x, y, plane(x, y), bounds_error=True)
    with pytest.raises(ValueError, match="outside of 0.0 to 4.0"):
        strict(5, 0)
    with pytest.raises(ValueError, match="5 x, 4 y and 3 z"):
        scipy_splines.interp2d(x, y, [1, 2, 3])


@pytest.mark.parametrize("kind", ["slinear", 1])
def test_lines_may_jump_where_points_share_a_place(faces: Any, kind: Any) -> None:
    interp1d = faces.load("scipy.interpolate").interp1d
    # A rate that several thresholds have in common, in no order, as a ROC curve gives it.
    rates, thresholds = [0.0, 0.5, 0.0, 0.0, 1.0, 0.5], [1.0, 4.0, 2.0, 3.0, 9.0, 5.0]
    line = interp1d(rates, thresholds, kind=kind)

    # From the last point at 0 to the first at 0.5; from the last there to 1.
    np.testing.assert_allclose(line([0.0, 0.25, 0.5, 0.75, 1.0]), [3, 3.5, 5, 7, 9])
    assert isinstance(line, scipy.interpolate.interp1d)
    columns = interp1d([2, 1, 1], [[9, 1], [4, 0], [5, 0]], kind=kind, axis=0)
    np.testing.assert_allclose(columns(1.5), [7, 0.5])
    plain = interp1d([0, 1, 3], [0, 2, 4], kind=kind)
    np.testing.assert_allclose(plain([0.5, 2]), [1, 3])
    with pytest.raises(ValueError, match="above the interpolation range"):
        plain(3.1)
    with pytest.raises(ValueError, match="duplicates"):
        interp1d([0, 0, 1, 2, 3], [0, 1, 2, 3, 4], kind="cubic")
    with pytest.raises(ValueError, match="equal in length"):
        interp1d([0, 1], [0, 1, 2], kind=kind)
