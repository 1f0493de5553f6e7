"""Lists that networkx 1 gave, for programs whose text shows that they were written for them.

`G.nodes()` and its kin are views since networkx 2: `G.nodes()[0]` was the first node, and is now
what is known of the node 0. So a program gets lists only where its files ask for the place of a
node or an edge, draw among them, iterate by `nodes_iter`, or name version 1 of networkx.
"""

from __future__ import annotations

import builtins
import functools
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from moxing.legacy.face import owned
from moxing.legacy.libraries import users_only

# The version of networkx 1 that programs required.
VERSION = "1.11"

_GIVES = r"\.(?:nodes|edges|neighbors|predecessors|successors|in_edges|out_edges)"
_OF_1 = re.compile(
    rf"{_GIVES}_iter\("
    # A place in a list: G.nodes()[0], G.edges()[-1], G.neighbors(node)[:5].
    rf"|{_GIVES}\([\w.]*\)\[\s*(?:-?\d+\s*\]|-?\d*\s*:)(?!\s*\[)"
    rf"|{_GIVES}\([\w.]*\)\.(?:index|sort|append|extend|remove|reverse)\("
    rf"|\brandom\.(?:choice|sample|shuffle)\(\s*[\w.]+{_GIVES}\("
    r"|(?:networkx|nx)\.__version__(?s:.{0,200})\b1\.(?:9|10|11)\b"
    r"|networkx\s*==?\s*1\.\d"
)
_VIEWS = ("NodeView", "OutEdgeView", "OutMultiEdgeView")
_METHODS = {"neighbors": "Graph", "predecessors": "DiGraph", "successors": "DiGraph"}


def is_of_version_1(text: str) -> bool:
    """Whether a file's text uses networkx in a way that only version 1 allowed."""
    return "networkx" in text and _OF_1.search(text) is not None


def wanted() -> bool:
    """Whether a file of the program that is running or was imported is of networkx 1."""
    return any(map(_file_is_of_version_1, _files()))


def version() -> str:
    """networkx's version: 1.11 for a program of networkx 1."""
    import networkx

    return VERSION if wanted() else str(networkx.__version__)


def install() -> None:
    """Has views and iterators be lists for such programs, from now on."""
    import networkx
    from networkx.classes import reportviews

    for name in _VIEWS:
        view = getattr(reportviews, name)
        view.__call__ = _listed(view.__call__)
    for name, owner in _METHODS.items():
        for kind in {getattr(networkx, owner), networkx.DiGraph}:
            if name in vars(kind):
                setattr(kind, name, _listed(getattr(kind, name)))


def _listed(function: Callable[..., Any]) -> Callable[..., Any]:
    if getattr(function, "_mox_gives_lists", False):
        return function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        asks = users_only.is_users(sys._getframe(1))
        return list(found) if asks and wanted() else found

    called._mox_gives_lists = True  # type: ignore[attr-defined]
    return called


def _files() -> Iterator[str]:
    """The program's files: those of its modules, and those whose functions are being called."""
    for module in list(sys.modules.values()):
        names = vars(module) if isinstance(module, types.ModuleType) else {}
        # The user's modules have builtins of their own.
        if names.get("__builtins__", builtins) not in (builtins, builtins.__dict__):
            yield names.get("__file__") or ""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if users_only.is_users(frame):
            yield frame.f_code.co_filename
        frame = frame.f_back


@functools.cache
def _file_is_of_version_1(path: str) -> bool:
    if not owned.owns(path):
        return False
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return is_of_version_1(file.read())
    except OSError:
        return False
