"""matplotlib and h5py as programs of 2018 know them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from moxing.legacy.libraries import matplotlib_face

from .conftest import Program


@pytest.fixture(scope="module")
def plt() -> Any:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    return matplotlib


def test_names(program: Program, plt: Any) -> None:
    values = program(
        """
        import matplotlib
        matplotlib.use('Agg', warn=False)
        import matplotlib.pyplot as plt
        from matplotlib import mlab
        from matplotlib.cbook import iterable
        maps = [plt.cm.get_cmap('jet', 5).N, plt.cm.spectral(0.3), plt.get_cmap('spectral')(0.3)]
        plt.hold(True)
        plt.style.use('seaborn-whitegrid')
        density = mlab.normpdf(0.0, 0.0, 2.0)
        found = mlab.find([0, 1, 1]).tolist(), iterable([1])
        """
    )

    expected = plt.colormaps["nipy_spectral"](0.3)
    assert values["maps"] == [5, expected, expected]
    assert values["density"] == pytest.approx(1 / (2 * np.sqrt(2 * np.pi)))
    assert values["found"] == ([1, 2], True)
    with pytest.raises(NotImplementedError, match=r"plt\.cla\(\)"):
        program("import matplotlib.pyplot as plt\nplt.hold(False)")
    with pytest.raises(AttributeError, match=r"scipy\.interpolate\.griddata"):
        program("import matplotlib.mlab as m\nm.griddata")


def test_settings_of_matplotlib_2(program: Program, plt: Any) -> None:
    with plt.rc_context():
        values = program(
            r"""
            import matplotlib as mpl
            import matplotlib.pyplot as plt
            mpl.rcParams.update({
                'pgf.preamble': [r'\usepackage[utf8x]{inputenc}', r'\usepackage[T1]{fontenc}'],
                'text.latex.unicode': True,
            })
            plt.rc('text.latex', preamble=[r'\usepackage{amsmath}'])
            mpl.rcParams['axes.color_cycle'] = ['r', 'b']
            read = mpl.rcParams['pgf.preamble'], mpl.rcParams['text.latex.preamble']
            cycle = mpl.rcParams['axes.prop_cycle'].by_key(), mpl.rcParams['axes.color_cycle']
            """
        )

    two = "\\usepackage[utf8x]{inputenc}\n\\usepackage[T1]{fontenc}"
    assert values["read"] == (two, "\\usepackage{amsmath}")
    assert values["cycle"] == ({"color": ["r", "b"]}, ["r", "b"])


def test_fonts_are_looked_for_anew(program: Program, plt: Any) -> None:
    values = program(
        """
        from matplotlib import font_manager
        before = font_manager.fontManager
        font_manager._rebuild()
        after = font_manager.fontManager
        """
    )

    assert values["after"] is not values["before"]
    assert {font.name for font in values["after"].ttflist} >= {"DejaVu Sans"}


def test_arguments(program: Program, plt: Any, tmp_path: Any) -> None:
    values = program(
        """
        import matplotlib.pyplot as plt
        figure = plt.figure(figsize=(2, 1), dpi=50)
        axes = plt.subplot(111, axisbg='red')
        counts = plt.hist([1, 2, 2], bins=2, normed=True)[0].tolist()
        bars = plt.bar(left=[1, 2], height=[3, 4])
        plt.annotate(s='note', xy=(1, 1))
        plt.yscale('log', nonposy='clip')
        plt.tick_params(axis='x', labelbottom='off')
        shown = axes.xaxis.get_tick_params()['labelbottom']
        lines = plt.plot([1, 2], [1, 2], hold=True)
        before = len(axes.lines)
        axes.lines.remove(lines[0])
        after = len(axes.lines)
        figure.canvas.draw()
        raw = figure.canvas.tostring_rgb()
        color = axes.get_axis_bgcolor()
        axes.grid(b=False)
        plt.savefig(path, quality=90, frameon=None)
        solid = plt.figure().gca(projection='3d').name
        plt.close('all')
        """,
        path=str(tmp_path / "x.jpg"),
    )

    assert values["counts"] == pytest.approx([2 / 3, 4 / 3])
    assert [bar.get_height() for bar in values["bars"]] == [3, 4]
    assert values["shown"] is False
    assert (values["before"], values["after"]) == (1, 0)
    assert len(values["raw"]) == 100 * 50 * 3
    assert values["color"] == (1.0, 0.0, 0.0, 1.0)
    assert (tmp_path / "x.jpg").stat().st_size > 0
    assert values["solid"] == "3d"


def test_densities() -> None:
    grid = np.linspace(-8, 8, 161)
    x, y = np.meshgrid(grid, grid)
    density = matplotlib_face.bivariate_normal(x, y, 1.0, 1.5, 0.5, -0.5, 0.6)

    assert density.sum() * 0.01 == pytest.approx(1)
    assert (density * x).sum() * 0.01 == pytest.approx(0.5, abs=1e-4)
    assert (density * (x - 0.5) * (y + 0.5)).sum() * 0.01 == pytest.approx(0.6, abs=1e-3)


def test_h5py(program: Program, tmp_path: Any) -> None:
    values = program(
        """
        import h5py
        with h5py.File(path) as f:
            f['a'] = [1, 2]
        with h5py.File(path) as f:
            f['b'] = 3
            read = f['a'].value.tolist(), f['b'].value, isinstance(f, h5py.File)
        """,
        path=str(tmp_path / "x.h5"),
    )

    assert values["read"] == ([1, 2], 3, True)
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5") as f:
        assert f.mode == "r"
        assert not hasattr(f["a"], "value")
