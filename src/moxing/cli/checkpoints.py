"""`mox checkpoints FOLDER`, and diff, average, copy and remove of checkpoints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from moxing.cli.options import Parser
from moxing.errors import MoxError, escaped, near_matches
from moxing.runs.checkpoints import start_tensorflow

_DESCRIPTION = """\
Lists the checkpoints of a folder or URL, the best ones too.

  mox checkpoints FOLDER [--verify]      list, or read every file to see whether it is whole
  mox checkpoints diff A B               which variables differ, and by how much
  mox checkpoints average A B ... --to=C the mean of the weights, as a new checkpoint
  mox checkpoints copy A FOLDER          copy into a folder or store, whole or not at all
  mox checkpoints remove A ...           remove, and point to the newest of the rest

A, B, C are prefixes such as out/model.ckpt-50; where one is read, also a folder (its newest
checkpoint), a URL, or a file that ends in .npz or .safetensors. `mox convert checkpoint` turns one
format into the other."""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit code: 1 if a checkpoint is damaged."""
    verb = arguments[0] if arguments else ""
    work = _VERBS.get(verb)
    try:
        return work(arguments[1:]) if work is not None else _list(arguments)
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
    except OSError as error:
        place = escaped(str(error.filename or "the disk"))
        print(f"mox: error: {place}: {error.strerror}.", file=sys.stderr)
    return 1


def _parser(verb: str, description: str) -> argparse.ArgumentParser:
    return Parser(
        prog=f"mox checkpoints {verb}".rstrip(),
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _list(arguments: Sequence[str]) -> int:
    parser = _parser("", _DESCRIPTION)
    parser.add_argument("folder", metavar="FOLDER", help="the log_dir of a run")
    parser.add_argument("--verify", action="store_true", help="read every file")
    words = [word for word in arguments if not word.startswith("-")]
    if len(words) > 1:
        hint = near_matches(words[0], _VERBS) or f" The commands are {', '.join(_VERBS)}."
        parser.error(
            f"a listing takes one FOLDER, not {len(words)}, and there is no command"
            f" {words[0]!r}.{hint}"
        )
    given = parser.parse_args(list(arguments))
    from moxing.runs.checkpoints import listing

    found = listing.listed(given.folder, given.verify)
    if not found:
        print(f"mox: no checkpoints in {escaped(given.folder)}.", file=sys.stderr)
        return 0
    print(listing.text(found))
    damaged = sum(bool(one.fault) for one in found)
    if given.verify:
        print(f"{len(found) - damaged} of {len(found)} are whole.")
    return int(damaged > 0)


def _diff(arguments: Sequence[str]) -> int:
    parser = _parser("diff", "Says which variables of two checkpoints differ, and by how much.")
    parser.add_argument("first", metavar="A")
    parser.add_argument("second", metavar="B")
    parser.add_argument("--all", action="store_true", help="list all; default: 40 of each kind")
    given = parser.parse_args(list(arguments))
    start_tensorflow()
    from moxing.runs.checkpoints import difference, source

    found = difference.compare(source.read(given.first), source.read(given.second))
    for line in difference.lines(found, 0 if given.all else 40):
        print(escaped(line))
    return 0


def _average(arguments: Sequence[str]) -> int:
    parser = _parser("average", "Writes the mean of the weights of checkpoints of one model.")
    parser.add_argument("sources", nargs="+", metavar="A")
    parser.add_argument("--to", required=True, metavar="C", help="what to write")
    given = parser.parse_args(list(arguments))
    start_tensorflow()
    from moxing.runs.checkpoints import average, source, target

    mean = average.average([source.read(path) for path in given.sources])
    written = escaped(target.write(mean, given.to))
    print(f"Wrote the mean of {len(given.sources)} checkpoints to {written}.")
    return 0


def _copy(arguments: Sequence[str]) -> int:
    parser = _parser("copy", "Copies a checkpoint into a folder or a store, whole or not at all.")
    parser.add_argument("source", metavar="A")
    parser.add_argument("folder", metavar="FOLDER")
    given = parser.parse_args(list(arguments))
    start_tensorflow()
    from moxing.runs.checkpoints import moving

    print(f"Copied to {escaped(moving.copy(given.source, given.folder))}.")
    return 0


def _remove(arguments: Sequence[str]) -> int:
    parser = _parser("remove", "Removes checkpoints.")
    parser.add_argument("prefixes", nargs="+", metavar="A")
    given = parser.parse_args(list(arguments))
    start_tensorflow()
    from moxing.runs.checkpoints import moving

    for prefix in moving.remove(given.prefixes):
        print(f"Removed {escaped(prefix)}.")
    return 0


_VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "diff": _diff,
    "average": _average,
    "copy": _copy,
    "remove": _remove,
}
