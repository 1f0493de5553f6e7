"""`mox runs [FOLDER ...]` lists runs; `mox compare RUN RUN ...` shows them on one page."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from moxing.cli.options import Parser
from moxing.errors import MoxError, escaped, shown

_LIST = """\
Lists the runs below folders: their global steps, their last values, when and how they ended.
A run is a log_dir that holds metrics.jsonl or run.json. Folders may be URLs, such as s3://bucket/runs."""
_COMPARE = """\
Writes one HTML page that shows runs side by side: the settings that differ, the last values, and
the curves over each other. Runs are log_dirs, on the disk or in a store."""


def main(arguments: Sequence[str]) -> int:
    """`mox runs`: prints the table; returns the exit code."""
    parser = Parser(
        prog="mox runs",
        description=_LIST,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", nargs="*", default=["."], metavar="FOLDER", help="default: .")
    parser.add_argument(
        "--sort", metavar="NAME", help="a value, step, time or run; default: by time"
    )
    parser.add_argument("--reverse", action="store_true", help="largest or newest first")
    parser.add_argument(
        "--show", default="", metavar="A,B", help="the values to show; default: the most common"
    )
    parser.add_argument("--json", action="store_true", help="everything known, for programs")
    given = parser.parse_args(list(arguments))
    # Imported only here, so that `mox --help` does not wait for these modules.
    from moxing.runs import found, table

    try:
        runs = table.ordered(found.find(given.folders), given.sort, given.reverse)
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1
    if given.json:
        print(table.as_json(runs))
    elif runs:
        print(table.text(runs, [name for name in given.show.split(",") if name]))
    else:
        print(f"mox: no runs below {', '.join(map(shown, given.folders))}.", file=sys.stderr)
    return 0


def compare(arguments: Sequence[str]) -> int:
    """`mox compare`: writes the page; returns the exit code."""
    parser = Parser(
        prog="mox compare",
        description=_COMPARE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the log_dir of a run")
    parser.add_argument(
        "--to", default="compare.html", metavar="FILE", help="default: compare.html"
    )
    given = parser.parse_args(list(arguments))
    from moxing.framework.atomic import replace
    from moxing.runs import comparison, found

    try:
        content = comparison.page([found.read(path) for path in given.runs])
        replace(given.to, [content.encode()])
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"mox: error: cannot write {escaped(given.to)}: {error.strerror}.", file=sys.stderr)
        return 1
    print(f"Wrote {escaped(os.path.abspath(given.to))}.")
    return 0
