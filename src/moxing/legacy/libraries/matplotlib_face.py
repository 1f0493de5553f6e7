"""matplotlib's names and arguments that programs of 2018 use and that it no longer has."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import users_only

_OWN = "moxing.legacy.libraries.matplotlib_face"
# Name of a colormap before matplotlib 2.2 -> its name now.
_COLORMAPS = {
    "spectral": "nipy_spectral",
    "spectral_r": "nipy_spectral_r",
    "Vega10": "tab10",
    "Vega20": "tab20",
    "Vega20b": "tab20b",
    "Vega20c": "tab20c",
}
# Old name of an argument -> its name now; None where it has no effect any more.
_SCALES = {
    **dict.fromkeys(("nonposx", "nonposy"), "nonpositive"),
    **dict.fromkeys(("basex", "basey"), "base"),
    **dict.fromkeys(("linthreshx", "linthreshy"), "linthresh"),
    **dict.fromkeys(("subsx", "subsy"), "subs"),
}
_BACKGROUND: dict[str, str | None] = {"axisbg": "facecolor", "axis_bgcolor": "facecolor"}
_HOLD: dict[str, str | None] = {"hold": None}
_AXES: dict[str, dict[str, str | None]] = {
    "annotate": {"s": "text"},
    "bar": {"left": "x", **_HOLD},
    "barh": {"bottom": "y", **_HOLD},
    "boxplot": {"labels": "tick_labels", **_HOLD},
    "grid": {"b": "visible"},
    "hist": {"normed": "density", **_HOLD},
    "imshow": {"shape": None, **_HOLD},
    "plot": _HOLD,
    "scatter": {"verts": None, **_HOLD},
    "set_xscale": {**_SCALES},
    "set_yscale": {**_SCALES},
    "stem": {"use_line_collection": None},
    "tick_params": {},
    "set_aspect": {},
}
_FIGURE: dict[str, dict[str, str | None]] = {
    "add_axes": _BACKGROUND,
    "add_subplot": _BACKGROUND,
    "savefig": {"papertype": None},
}
_GONE_SETTINGS = (
    "animation.avconv_args",
    "animation.avconv_path",
    "animation.html_args",
    "axes.color_cycle",
    "examples.directory",
    "legend.isaxes",
    "pgf.debug",
    "savefig.frameon",
    "savefig.jpeg_quality",
    "svg.image_noscale",
    "text.latex.preview",
    "text.latex.unicode",
    "verbose.fileo",
    "verbose.level",
)
_FINANCE = "pip install mplfinance has it."


def spec() -> Spec:
    """matplotlib with its old names; everything else is its own."""
    functions = {name: f"{_OWN}:{name}" for name in ("annotate", "bar", "barh", "boxplot", "stem")}
    return Spec(
        roots=("matplotlib",),
        names={
            "cbook": Spec(
                roots=("matplotlib.cbook",),
                names={
                    "iterable": "numpy:iterable",
                    "is_string_like": lambda: lambda text: isinstance(text, str),
                },
                library=True,
            ),
            "cm": Spec(
                roots=("matplotlib.cm",),
                names={
                    "get_cmap": "matplotlib.pyplot:get_cmap",
                    "cmap_d": "matplotlib:colormaps",
                    "register_cmap": f"{_OWN}:register_cmap",
                    **{old: f"matplotlib.cm:{new}" for old, new in _COLORMAPS.items()},
                },
                library=True,
            ),
            "font_manager": Spec(
                roots=("matplotlib.font_manager",),
                names={"_rebuild": f"{_OWN}:rebuild_fonts"},
                library=True,
                live=True,
            ),
            "mlab": Spec(
                roots=("matplotlib.mlab",),
                names={name: f"{_OWN}:{name}" for name in ("bivariate_normal", "find", "normpdf")},
                gone={
                    "PCA": "Use sklearn.decomposition.PCA.",
                    "csv2rec": "Use numpy.recfromcsv or pandas.read_csv.",
                    "griddata": "Use scipy.interpolate.griddata.",
                    "rec2csv": "Use numpy.savetxt or pandas.",
                },
                library=True,
            ),
            "pyplot": Spec(
                roots=("matplotlib.pyplot",),
                names={
                    **functions,
                    "cm": "face:matplotlib.cm",
                    "hold": f"{_OWN}:hold",
                    "ishold": lambda: lambda: True,
                    "mlab": "face:matplotlib.mlab",
                    "register_cmap": f"{_OWN}:register_cmap",
                },
                arrive=_arrive,
                library=True,
            ),
            "use": f"{_OWN}:use",
        },
        gone={"finance": _FINANCE},
        arrive=_styles_and_colors,
        library=True,
    )


def pylab_spec() -> Spec:
    """`pylab`: matplotlib's and NumPy's functions in one module."""
    return Spec(
        roots=("pylab",),
        names={"cm": "face:matplotlib.cm", "hold": f"{_OWN}:hold", "normpdf": f"{_OWN}:normpdf"},
        arrive=_arrive,
        library=True,
    )


def _styles_and_colors() -> None:
    """Adds the old names of styles and colormaps to matplotlib's tables."""
    import matplotlib
    from matplotlib import style

    for name in list(style.library):
        if name.startswith("seaborn-v0_8"):
            style.library.setdefault(name.replace("-v0_8", ""), style.library[name])
    for old, new in _COLORMAPS.items():
        if old not in matplotlib.colormaps:
            matplotlib.colormaps.register(matplotlib.colormaps[new], name=old)
    _old_settings()


@functools.cache
def _old_settings() -> None:
    """Lets `rcParams` take lists of LaTeX's lines, and names that it had until matplotlib 3.

    Such a name is kept and has no effect, but for the cycle of colors, which goes where it is now.
    """
    import matplotlib
    from cycler import cycler

    known: Any = matplotlib.RcParams.validate
    for name in ("pgf.preamble", "text.latex.preamble"):
        known[name] = _lines(known[name])
    for name in _GONE_SETTINGS:
        known.setdefault(name, lambda value: value)

    def colors(value: Any) -> Any:
        listed = value.replace(" ", "").split(",") if isinstance(value, str) else list(value)
        matplotlib.rcParams["axes.prop_cycle"] = cycler(color=listed)
        return listed

    known["axes.color_cycle"] = colors


def _lines(check: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: check("\n".join(value) if isinstance(value, list | tuple) else value)


@functools.cache
def _arrive() -> None:
    """Lets the methods of axes and figures take their old arguments."""
    from matplotlib import axes, contour, figure
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    _styles_and_colors()
    for owner, table in ((axes.Axes, _AXES), (figure.Figure, _FIGURE)):
        for name, arguments in table.items():
            setattr(owner, name, _tolerant(getattr(owner, name), arguments))
    # matplotlib's own modules look at all attributes of axes, so these can't be the user's only.
    for name, method in (
        ("set_axis_bgcolor", axes.Axes.set_facecolor),
        ("get_axis_bgcolor", axes.Axes.get_facecolor),
        ("hold", lambda _axes, b=None: hold(b)),
        ("set_color_cycle", lambda axes, colors: axes.set_prop_cycle(color=colors)),
    ):
        setattr(axes.Axes, name, method)
    figure.Figure.gca = _gca(figure.Figure.gca)
    artists = axes.Axes.ArtistList
    users_only.add(artists, "remove", lambda _artists, artist: artist.remove())
    users_only.add(artists, "pop", _pop)
    users_only.add(contour.ContourSet, "collections", lambda shown: [shown], "property")
    users_only.add(FigureCanvasAgg, "tostring_rgb", _tostring_rgb)
    users_only.add(FigureCanvasAgg, "set_window_title", _set_window_title)


def _tolerant(method: Callable[..., Any], renamed: dict[str, str | None]) -> Callable[..., Any]:
    """Returns a method that also takes the arguments it had, by their old names and values."""

    @functools.wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        _rename(kwargs, renamed)
        if method.__name__ in ("tick_params", "grid"):
            args = tuple(_switch(value) for value in args)
            kwargs = {name: _switch(value) for name, value in kwargs.items()}
        if kwargs.get("adjustable") == "box-forced":
            kwargs["adjustable"] = "box"
        if kwargs.get("edgecolors") == "":
            kwargs["edgecolors"] = "none"
        if method.__name__ == "savefig":
            _old_save(kwargs)
        return method(self, *args, **kwargs)

    return called


def _gca(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def gca(self: Any, **kwargs: Any) -> Any:
        # With arguments, it made new axes, such as `fig.gca(projection="3d")`.
        return self.add_subplot(1, 1, 1, **kwargs) if kwargs else method(self)

    return gca


def _rename(kwargs: dict[str, Any], renamed: dict[str, str | None]) -> None:
    for old in renamed.keys() & kwargs.keys():
        value, new = kwargs.pop(old), renamed[old]
        # `None` was the default of all of them.
        given = kwargs.get(new) if new else None
        if new and value is not None and (given is None or given is False):
            kwargs[new] = bool(value) if new == "density" else value


def _switch(value: Any) -> Any:
    return value == "on" if isinstance(value, str) and value in ("on", "off") else value


def _old_save(kwargs: dict[str, Any]) -> None:
    quality, frame = kwargs.pop("quality", None), kwargs.pop("frameon", None)
    if quality is not None:
        kwargs["pil_kwargs"] = {"quality": quality, **(kwargs.get("pil_kwargs") or {})}
    if frame is not None and not frame:
        kwargs.update(facecolor="none", edgecolor="none")


def _function(name: str) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Any:
        from matplotlib import pyplot

        _rename(kwargs, _AXES[name])
        return getattr(pyplot, name)(*args, **kwargs)

    called.__name__, called.__doc__ = name, f"`pyplot.{name}`, also with its old arguments."
    return called


annotate, bar, barh, boxplot, stem = map(_function, ("annotate", "bar", "barh", "boxplot", "stem"))


def hold(b: bool | None = None) -> None:
    """Does nothing: what is drawn stays, which was the default.

    Raises:
        NotImplementedError: `hold(False)`, which cleared the axes before each command.
    """
    if b is not None and not b:
        raise NotImplementedError(
            "plt.hold(False) is gone from today's matplotlib: call plt.cla() before each plot."
        )


def use(arg: str, warn: Any = None, force: bool = True) -> None:
    """`matplotlib.use`, with the argument `warn` and the names of backends that it had.

    Args:
        arg: the backend.
        warn: without effect.
        force: whether to raise an error if the backend can't be loaded.
    """
    import matplotlib

    old = {"qt4agg": "QtAgg", "qt4cairo": "QtCairo", "gtkagg": "GTK3Agg", "gtk": "GTK3Agg"}
    matplotlib.use(old.get(arg.lower(), arg), force=force)


def rebuild_fonts() -> None:
    """`font_manager._rebuild`: looks for the fonts of the machine anew."""
    from matplotlib import font_manager

    font_manager.fontManager = font_manager._load_fontmanager(try_read_cache=False)


def register_cmap(name: str | None = None, cmap: Any = None) -> None:
    """Gives a colormap a name, by default its own."""
    import matplotlib

    matplotlib.colormaps.register(cmap, name=name, force=True)


def normpdf(x: Any, *args: Any) -> Any:
    """Returns the normal density at `x`; the arguments are mean and standard deviation."""
    import numpy as np

    mu, sigma = args
    return np.exp(-0.5 * ((np.asarray(x) - mu) / sigma) ** 2) / (np.sqrt(2 * np.pi) * sigma)


def bivariate_normal(
    X: Any,
    Y: Any,
    sigmax: float = 1.0,
    sigmay: float = 1.0,
    mux: float = 0.0,
    muy: float = 0.0,
    sigmaxy: float = 0.0,
) -> Any:
    """Returns the density of two normal variables with a covariance."""
    import numpy as np

    x, y, rho = X - mux, Y - muy, sigmaxy / (sigmax * sigmay)
    z = x**2 / sigmax**2 + y**2 / sigmay**2 - 2 * rho * x * y / (sigmax * sigmay)
    norm = 2 * np.pi * sigmax * sigmay * np.sqrt(1 - rho**2)
    return np.exp(-z / (2 * (1 - rho**2))) / norm


def find(condition: Any) -> Any:
    """Returns the indices of a flattened array where it is true."""
    import numpy as np

    return np.flatnonzero(condition)


def _pop(artists: Any, place: int = -1) -> Any:
    artist = artists[place]
    artist.remove()
    return artist


def _tostring_rgb(canvas: Any) -> bytes:
    """Returns the pixels as bytes of red, green and blue."""
    import numpy as np

    return np.asarray(canvas.buffer_rgba())[..., :3].tobytes()


def _set_window_title(canvas: Any, title: str) -> None:
    if canvas.manager is not None:
        canvas.manager.set_window_title(title)
