"""The command line of a program: which flags nobody defined, and which came empty."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from moxing import logs
from moxing.errors import near_matches

_NUMBER_START = frozenset("0123456789.")


class CommandLine:
    """The arguments of a program and who has taken them.

    Attributes:
        arguments: what the program finds in `sys.argv[1:]`.
        given: text of each runtime flag that was on the command line; they are no longer in
            `sys.argv`, but a parser of the program that defines one of them gets it back.
        runtime: names of all runtime flags.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        given: Mapping[str, str],
        runtime: Collection[str],
        quiet: bool = False,
    ) -> None:
        """Args: arguments: those left to the program. quiet: warn of nothing."""
        self.given = dict(given)
        self.runtime = frozenset(runtime)
        self.arguments = list(arguments)
        self._taken: set[str] = set()
        self._defined: set[str] = set(runtime)
        self._tolerant: list[Callable[[str], bool]] = []
        self._said: set[str] = set()
        self._quiet = quiet

    def take(self, names: Iterable[str]) -> None:
        """A parser has found these flags of the command line among its own."""
        self._taken.update(names)

    def define(self, names: Iterable[str]) -> None:
        """A parser defines these flags; typing errors are compared with them."""
        self._defined.update(names)

    def tolerate(self, knows: Callable[[str], bool]) -> None:
        """A parser has gone on in spite of flags that it does not know.

        Args:
            knows: whether that parser knows a flag; asked when the warning is due.
        """
        if knows not in self._tolerant:
            self._tolerant.append(knows)

    def unknown(self) -> list[str]:
        """Names of the flags that no parser of the program knows."""
        names = dict.fromkeys(name for name, _ in flags_in(self.arguments))
        return [
            name
            for name in names
            if name not in self._taken and not any(knows(name) for knows in self._tolerant)
        ]

    def warn_unknown(self) -> None:
        """Says once, in one line, which flags were ignored; nothing if no parser was tolerant."""
        names = [name for name in self.unknown() if name not in self._said]
        if not names or not self._tolerant or self._quiet:
            return
        self._said.update(names)
        logs.warn(
            "ignored flags that the script does not define: %s",
            ", ".join(f"--{name}{self._hint(name)}" for name in names),
        )

    def note_empty(self, name: str, default: object) -> None:
        """Says that an empty value stands in for the default; nothing if that is empty too."""
        if default != "" and name not in self._said and not self._quiet:
            self._said.add(name)
            logs.warn("flag %s is empty: the script's default is not used", name)

    def _hint(self, name: str) -> str:
        hint = near_matches(name, sorted(self._defined))
        return f" ({hint.strip()})" if hint else ""


def flags_in(arguments: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Name and value, if it holds one, of each argument that looks like a flag.

    Numbers below zero are values, and nothing after a bare `--` is a flag.
    """
    for argument in arguments:
        if argument == "--":
            return
        if is_flag(argument):
            name, equals, value = argument.lstrip("-").partition("=")
            yield name, value if equals else None


def is_flag(argument: str) -> bool:
    """Whether an argument is `-name`, `--name` or one of those with a value."""
    name = argument.lstrip("-")
    return argument.startswith("-") and bool(name) and name[0] not in _NUMBER_START
