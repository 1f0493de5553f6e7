"""The command line of a program, with checks for undefined, misspelled and empty flags."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from moxing import flags, logs
from moxing.errors import MoxValueError, near_matches
from moxing.flags import origins, rehearsal

# Platforms append these flags even if a program does not define them, so they are not misspellings
# of flags with similar names.
_APPENDED = frozenset(
    [
        *("data_url", "train_url", "checkpoint_url", "eval_url", "init_method", "rank"),
        *("world_size", "data_dir", "output_dir", "work_dir", "log_dir"),
    ]
)
_HOSTS = frozenset(("ps_hosts", "worker_hosts"))
_LEAST_LETTERS = 4  # Shorter names are too often similar to be typos.
_NUMBER_START = frozenset("0123456789.")


class CommandLine:
    """The arguments of a program, and the flags that parsers have taken.

    Attributes:
        arguments: the arguments that the program finds in `sys.argv[1:]`.
        given: the text of each runtime flag on the command line. These flags are not in
            `sys.argv`, but a parser of the program that defines one of them gets it back, unless
            they are withheld.
        runtime: the names of all runtime flags.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        given: Mapping[str, str],
        runtime: Collection[str],
        quiet: bool = False,
    ) -> None:
        """Args: arguments: the program's arguments. quiet: whether to suppress warnings."""
        self.given = dict(given)
        self.runtime = frozenset(runtime)
        self.arguments = list(arguments)
        self._withheld: frozenset[str] = frozenset()
        self._taken: set[str] = set()
        self._defined: set[str] = set(runtime)
        self._tolerant: list[Callable[[str], bool]] = []
        self._said: set[str] = set()
        self._ignored: dict[str, None] = {}
        self._quiet = quiet

    def withhold(self, names: Iterable[str]) -> None:
        """Keeps runtime flags from the program's parsers, which then have their defaults."""
        self._withheld |= frozenset(names)

    @property
    def offered(self) -> dict[str, str]:
        """The text of each runtime flag that a parser of the program may get back."""
        return {name: text for name, text in self.given.items() if name not in self._withheld}

    def take(self, names: Iterable[str]) -> None:
        """Records flags of the command line that a parser has taken."""
        self._taken.update(names)

    def define(self, names: Iterable[str]) -> None:
        """Records flags that a parser defines, with which unknown flags are compared.

        A `--job_name` that the program defines, given without any hosts, is the program's alone.
        """
        names = set(names)
        self._defined.update(names)
        if "dry_run" in names:
            rehearsal.define_in_program()
        if "job_name" in names & set(self.given) and not self.given.keys() & _HOSTS:
            flags.set_flag("job_name", "")

    def tolerate(self, knows: Callable[[str], bool]) -> None:
        """Records that a parser has ignored unknown flags.

        Args:
            knows: whether that parser knows a flag; asked when the warning is due.
        """
        if knows not in self._tolerant:
            self._tolerant.append(knows)

    def unknown(self) -> list[str]:
        """Returns the names of the flags that no parser of the program knows."""
        names = dict.fromkeys(name for name, _ in flags_in(self.arguments))
        return [
            name
            for name in names
            if name not in self._taken and not any(knows(name) for knows in self._tolerant)
        ]

    def check_unknown(self) -> None:
        """Refuses typos and warns of other unknown flags, once all flags should be defined.

        Raises:
            MoxValueError: a flag that no parser knows differs by one letter, or in case or dashes,
                from a flag that a parser defines.
        """
        for name in self._to_say():
            meant = next((known for known in sorted(self._defined) if _is_typo(name, known)), None)
            if meant is not None and name not in _APPENDED:
                self._said.add(name)
                raise MoxValueError(_about_typo(name, meant))
        self.warn_unknown()

    def warn_unknown(self) -> None:
        """Warns once, in one line, of ignored flags; does nothing if no parser was tolerant."""
        names = self._to_say()
        if not names:
            return
        self._said.update(names)
        self._ignored.update(dict.fromkeys(names))
        logs.warn(
            "ignored flags that the script does not define: %s",
            ", ".join(f"--{name}{_place(name)}{self._hint(name)}" for name in names),
        )

    def remind(self) -> None:
        """Repeats at the end of a program which flags were ignored."""
        if self._ignored:
            logs.warn(
                "not used: %s", ", ".join(f"--{name}{_place(name)}" for name in self._ignored)
            )

    def _to_say(self) -> list[str]:
        if not self._tolerant or self._quiet:
            return []
        return [name for name in self.unknown() if name not in self._said]

    def note_empty(self, name: str, default: object) -> None:
        """Warns that an empty value replaces the default, unless the default is empty, too."""
        if default != "" and name not in self._said and not self._quiet:
            self._said.add(name)
            begin = origins.prefix(name, "")
            logs.warn("%sflag %s is empty: the script's default is not used", begin, name)

    def _hint(self, name: str) -> str:
        if name in _APPENDED:
            return ""  # Nobody mistyped it.
        hint = near_matches(name, sorted(self._defined))
        return f" ({hint.strip()})" if hint else ""


def _about_typo(name: str, meant: str) -> str:
    if path := origins.of(name):
        return f"{path}: there is no flag for the key {name}. Did you mean {meant}?"
    return (
        f"flag --{name} is not defined. Did you mean --{meant}? If another program reads it, put it"
        " behind a bare -- on the command line."
    )


def _place(name: str) -> str:
    path = origins.of(name)
    return f" in {path}" if path else ""


def _is_typo(name: str, known: str) -> bool:
    """Whether two names differ only by case, dashes, or one wrong, missing or swapped letter."""
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
        return False  # conv1 and conv2, for example, are different flags.
    swapped = a[:2] == b[1::-1] and a[2:] == b[2:] and len(a) > 1
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped


def flags_in(arguments: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yields the name and the value, or None, of each argument that looks like a flag.

    Negative numbers are values, and no argument after a bare `--` is a flag.
    """
    for argument in arguments:
        if argument == "--":
            return
        if is_flag(argument):
            name, equals, value = argument.lstrip("-").partition("=")
            yield name, value if equals else None


def is_flag(argument: str) -> bool:
    """Whether an argument is `-name` or `--name`, with or without a value."""
    name = argument.lstrip("-")
    return argument.startswith("-") and bool(name) and name[0] not in _NUMBER_START
