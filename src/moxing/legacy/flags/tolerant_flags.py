"""absl's global flags with the behavior of TensorFlow 1.4: readable at any time, tolerant."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import Any

from absl import flags as absl_flags

from moxing.errors import MoxAttributeError, MoxValueError, near_matches
from moxing.flags import origins, program_flags
from moxing.legacy.flags import all_flags, flag_tokens
from moxing.legacy.flags.command_line import CommandLine

_HELP = frozenset(("--help", "-help", "-h", "--helpshort", "--helpfull"))
_DICT: Any = vars(absl_flags.FlagValues)["__dict__"]
_EXPECTED = {"bool": "true or false", "string": "text"}


class TolerantFlags(absl_flags.FlagValues):
    """Another view of absl's flags, by default of `absl.flags.FLAGS`: the same flags and values.

    A flag gets its value from the command line when it is defined, so it can be read from then on.
    Undefined flags are ignored.
    """

    __slots__ = ("_applied", "_command_line", "_own", "_verified")

    def __init__(
        self, command_line: CommandLine, flags: absl_flags.FlagValues = absl_flags.FLAGS
    ) -> None:
        """Args: command_line: the program's command line. flags: the flags behind this view."""
        # FlagValues keeps everything in __dict__ and guards plain assignment.
        _DICT.__set__(self, flags.__dict__)
        object.__setattr__(self, "_command_line", command_line)
        object.__setattr__(self, "_applied", {})
        object.__setattr__(self, "_own", {})
        object.__setattr__(self, "_verified", set())
        self.mark_as_parsed()

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """The attributes, where a program finds `__flags` as it does on the flags."""
        found: dict[str, Any] = _DICT.__get__(self)
        frame = sys._getframe(1)
        if str(frame.f_globals.get("__name__")).startswith(("absl.", "moxing.")):
            return found
        if not all_flags.named(frame):
            return found
        return {**found, "__flags": _as_asked(self, frame)}

    def __setitem__(self, name: str, flag: Any) -> None:
        old = self._flags().get(name)
        if old is not None and name in self._own and not _may_replace(old, flag):
            if not _same(old, flag):
                raise MoxValueError(
                    f"flag {name!r} is defined twice: with the default {old.default!r} at"
                    f" {self._own[name]}, and with {flag.default!r} at {_place()}. Rename one."
                )
            # A module was imported twice, or a notebook cell was run again.
            flag.value, flag.present = old.value, old.present
            flag.using_default_value = old.using_default_value
        if old is not None:
            # The program's own flags replace flags of openmox and of libraries.
            self.__delattr__(name)
        super().__setitem__(name, flag)
        self._own[name] = _place()
        program_flags.note_defined(name, self)
        self._command_line.define((name,))
        self._command_line.tolerate(self._knows)
        if name in self._command_line.offered:
            self._apply(flag, [self._command_line.offered[name]])
        self._read(sys.argv[1:], only=name)

    def __getattr__(self, name: str) -> Any:
        flag = self._flags().get(name)
        if flag is None:
            # Python itself looks up names with underscores, to copy or print an object.
            error = AttributeError if name.startswith("_") else MoxAttributeError
            raise error(f"flag {name!r} is not defined.{near_matches(name, self._flags())}")
        if flag.name not in self._verified:
            self._first_access(flag)
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> Any:
        if name in self._flags():
            return super().__setattr__(name, value)
        # TensorFlow 1.4 took any name; programs put sizes of their data there.
        meant = near_matches(name, self._flags())
        if meant:
            print(
                f"mox: {_place()} sets the flag {name!r}, which is not defined.{meant}",
                file=sys.stderr,
                flush=True,
            )
        self[name] = _Assigned(name, value)
        return value

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Reads a command line whose first item is the program's name.

        Returns:
            The program's name and every argument that is not a known flag.

        Raises:
            MoxValueError: a value has the wrong type, is missing, or is refused by a validator of
                the program.
        """
        del known_only
        self._answer_help()
        rest = self._read(list(argv)[1:])
        self._verify(self.validate_all_flags)
        self._command_line.tolerate(self._knows)
        self.mark_as_parsed()
        return [*list(argv)[:1], *rest]

    def define_anew(self) -> None:
        """Lets the program define flags again, with other defaults than before."""
        self._own.clear()

    def _parse_flags(self, args: Sequence[str] | None = None) -> list[str]:
        """Reads the command line, like TensorFlow 1.4; returns the remaining arguments."""
        return self._read(sys.argv[1:] if args is None else list(args))

    def _find(self, name: str) -> Any:
        return self._flags().get(name)

    def _read(self, arguments: Sequence[str], only: str | None = None) -> list[str]:
        """Sets the values of flags; returns the other arguments."""
        found, rest = flag_tokens.split(arguments, self._find)
        texts: dict[str, list[str]] = {}
        for name, text in found:
            texts.setdefault(name, []).append(text)
        for name, values in texts.items():
            # Keep a value that the program has assigned meanwhile.
            if only in (None, name) and self._applied.get(name) != values:
                self._apply(self._flags()[name], values)
                self._applied[name] = values
        return rest

    def _apply(self, flag: Any, texts: Sequence[str]) -> None:
        if flag.name in self._applied:
            flag.unparse()
        for text in texts:
            try:
                flag.parse(text)
            except absl_flags.IllegalFlagValueError as error:
                raise MoxValueError(_bad_value(flag, text)) from error
        flag.using_default_value = False
        if texts[-1] == "":
            self._command_line.note_empty(flag.name, flag.default)

    def _first_access(self, flag: Any) -> None:
        self._verified.add(flag.name)
        if self._own:
            self._answer_help()
        if flag.name not in self._own and flag.name not in self._command_line.runtime:
            # A library's flag, defined before there was a command line to read.
            self._read(sys.argv[1:], only=flag.name)
        self._verify(lambda: self._assert_validators(flag.validators))

    def _knows(self, name: str) -> bool:
        flags = self._flags()
        return name in flags or (name.startswith("no") and name[2:] in flags)

    def _verify(self, check: Any) -> None:
        try:
            check()
        except absl_flags.IllegalFlagValueError as error:
            raise MoxValueError(str(error)) from error

    def _answer_help(self) -> None:
        """Prints the program's flags and ends it, if the command line asks for that."""
        asked = _HELP.intersection(sys.argv[1:])
        if not asked or self._knows(next(iter(asked)).lstrip("-")):
            return
        self._command_line.take(option.lstrip("-") for option in asked)
        everything = "--helpfull" in asked
        print(f"usage: {sys.argv[0]} [flags]\n")
        print(self.get_help() if everything else self.main_module_help())
        raise SystemExit(0)


def _all_flags(self: TolerantFlags) -> Any:
    """All flags by name, see `all_flags`."""
    return _as_asked(self, sys._getframe(1))


def _as_asked(self: TolerantFlags, frame: types.FrameType) -> Any:
    if all_flags.asked_for_objects(frame):
        return self._flags()
    return all_flags.Values(self, {name: self._flags()[name].value for name in self._own})


# In the class's body, Python would change this name.
setattr(TolerantFlags, "__flags", property(_all_flags))


class _AnyValue(absl_flags.ArgumentParser):
    """Takes every value as it is."""

    def parse(self, argument: Any) -> Any:
        return argument

    def flag_type(self) -> str:
        return "value"


class _Assigned(absl_flags.Flag):
    """A flag that the program assigns without defining it first."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__(
            _AnyValue(),
            absl_flags.ArgumentSerializer(),
            name,
            value,
            "Set by the program.",
            allow_override=True,
        )


def _may_replace(old: Any, new: Any) -> bool:
    return old.allow_override or new.allow_override


def _same(old: Any, new: Any) -> bool:
    """Whether two flags are defined alike."""
    return (
        type(old) is type(new)
        and old.flag_type() == new.flag_type()
        and old.default == new.default
        and getattr(old.parser, "enum_values", None) == getattr(new.parser, "enum_values", None)
    )


def _bad_value(flag: Any, text: str) -> str:
    choices = getattr(flag.parser, "enum_values", None)
    expected = flag.parser.syntactic_help or _EXPECTED.get(flag.flag_type(), flag.flag_type())
    if choices:
        expected = f"one of {', '.join(choices)}"
    begin = origins.prefix(flag.name, text)
    sentence = f"{begin}flag --{flag.name}={text}: expected {expected}, got {text!r}."
    if text == "":
        sentence += f" Leave the flag out to use the script's default {flag.default!r}."
    return sentence


def _place() -> str:
    """File and line of the definition that is being made."""
    frame = sys._getframe(1)
    inside = (__file__, absl_flags.__file__.rpartition("/")[0])
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside + (_FACE_FILE,)):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


_FACE_FILE = __file__.replace("tolerant_flags", "flags_face")
