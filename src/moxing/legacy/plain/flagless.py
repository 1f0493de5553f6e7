"""Tells by a program's text that none of its files reads the command line."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from moxing.legacy.plain import texts

# A file with one of these names may read arguments, itself or by a library.
_READERS = frozenset(
    (
        "FLAGS",
        "absl",
        "app",
        "argparse",
        "argv",
        "click",
        "configargparse",
        "docopt",
        "fire",
        "flags",
        "getopt",
        "hydra",
        "jsonargparse",
        "optparse",
        "orig_argv",
        "plac",
        "simple_parsing",
        "tap",
        "typer",
        "tyro",
    )
)
# It may also run or import a file that is not known here.
_LOADERS = frozenset(("__import__", "exec", "execfile", "import_module", "importlib", "runpy"))


def is_flagless(script: str) -> bool:
    """Whether no file of a program can read the arguments that stand behind its name.

    Args:
        script: path of the program.
    """
    return readers(script) == set()


def readers(script: str) -> set[str] | None:
    """Returns the names in a program's files by which it may read its arguments.

    Args:
        script: path of the program.

    Returns:
        Names such as "argparse" and "argv"; None if the program's text can't be parsed.
    """
    found: set[str] | None = None
    for tree in texts.trees(script):
        found = (found or set()) | (_READERS | _LOADERS).intersection(_names(tree))
    return found


def _names(tree: ast.Module) -> Iterator[str]:
    """All names of variables, attributes and imported modules in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (getattr(node, "module", None) or "").split(".")
            yield from (part for item in node.names for part in item.name.split("."))
