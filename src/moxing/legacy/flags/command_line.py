"""The command line of a program: which flags nobody defined, which are typos, which came empty."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from moxing import logs
from moxing.errors import MoxValueError, near_matches

# Platforms append these flags whether a program defines them or not, so they are no typos of flags
# with like names.
_APPENDED = frozenset(
    [
        *("data_url", "train_url", "checkpoint_url", "eval_url", "init_method", "rank"),
        *("world_size", "data_dir", "output_dir", "work_dir", "log_dir"),
    ]
)
_LEAST_LETTERS = 4  # Of names that differ by a typo; shorter ones are too often alike.
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
        self._ignored: dict[str, None] = {}
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

    def check_unknown(self) -> None:
        """Refuses typos and warns of other unknown flags, where all flags should be defined.

        Raises:
            MoxValueError: a flag that no parser knows differs by one letter, or in case or dashes,
                from a flag that a parser defines.
        """
        for name in self._to_say():
            meant = next((known for known in sorted(self._defined) if _is_typo(name, known)), None)
            if meant is not None and name not in _APPENDED:
                self._said.add(name)
                raise MoxValueError(
                    f"flag --{name} is not defined. Did you mean --{meant}? If another program"
                    " reads it, put it behind a bare -- on the command line."
                )
        self.warn_unknown()

    def warn_unknown(self) -> None:
        """Says once, in one line, which flags were ignored; nothing if no parser was tolerant."""
        names = self._to_say()
        if not names:
            return
        self._said.update(names)
        self._ignored.update(dict.fromkeys(names))
        logs.warn(
            "ignored flags that the script does not define: %s",
            ", ".join(f"--{name}{self._hint(name)}" for name in names),
        )

    def remind(self) -> None:
        """Says at the end of a program which flags were ignored before, in lines long gone by."""
        if self._ignored:
            logs.warn("not used: %s", ", ".join(f"--{name}" for name in self._ignored))

    def _to_say(self) -> list[str]:
        if not self._tolerant or self._quiet:
            return []
        return [name for name in self.unknown() if name not in self._said]

    def note_empty(self, name: str, default: object) -> None:
        """Says that an empty value stands in for the default; nothing if that is empty too."""
        if default != "" and name not in self._said and not self._quiet:
            self._said.add(name)
            logs.warn("flag %s is empty: the script's default is not used", name)

    def _hint(self, name: str) -> str:
        hint = near_matches(name, sorted(self._defined))
        return f" ({hint.strip()})" if hint else ""


def _is_typo(name: str, known: str) -> bool:
    """Whether a name is another by one wrong, missing, added or swapped letter, case or dashes."""
    left, right = (text.lower().replace("-", "_") for text in (name, known))
    if left == right:
        return True
    if min(len(left), len(right)) < _LEAST_LETTERS:
        return False
    at = next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )
    a, b = left[at:], right[at:]
    if a[:1].isdigit() and b[:1].isdigit():
        return False  # As in conv1 and conv2, which are two flags.
    swapped = a[:2] == b[1::-1] and a[2:] == b[2:] and len(a) > 1
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped


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
