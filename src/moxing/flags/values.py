"""The values of the runtime flags, from the command line and from the program.

The flags are also visible in `tf.flags.FLAGS`. A program reads them with `mox.get_flag`.
"""

from __future__ import annotations

import numbers
import operator
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from absl import flags as absl_flags

from moxing import logs
from moxing.errors import (
    MoxKeyError,
    MoxNotSupportedError,
    MoxTypeError,
    MoxValueError,
    near_matches,
    shown,
)
from moxing.flags import idle, origins
from moxing.flags.table import CLUSTER_FLAGS, FLAG_NAMES, TABLE, FlagSpec

_DEFINE = {
    "string": absl_flags.DEFINE_string,
    "integer": absl_flags.DEFINE_integer,
    "float": absl_flags.DEFINE_float,
    "boolean": absl_flags.DEFINE_boolean,
}


def _define() -> absl_flags.FlagValues:
    values = absl_flags.FlagValues()
    for spec in TABLE:
        _DEFINE[spec.kind](
            spec.name, spec.default, spec.help, flag_values=values, allow_override=True
        )
    values.mark_as_parsed()
    return values


@dataclass
class _Given:
    """The runtime flags that a command line has given.

    Attributes:
        texts: the text of each flag, by name.
        complete: whether the command line of this process was read.
        tf_config: the environment's TF_CONFIG when the command line was read first.
    """

    texts: dict[str, str] = field(default_factory=dict)
    complete: bool = False
    tf_config: str | None = None


# Flags are mutable state of the process, as in absl.
_VALUES = _define()
_GIVEN = _Given()


# The value of a boolean flag without one; `False` may follow as a word, as in TensorFlow 1.4.
_BARE: Final = "true"


def consume(argv: Sequence[str]) -> list[str]:
    """Takes the runtime flags out of a command line, wherever they stand, and keeps their values.

    Args:
        argv: arguments without the program's name.

    Returns:
        The other arguments, in order. Arguments after a bare `--` are left alone.

    Raises:
        MoxValueError: a flag can't have its value, or has none.
    """
    rest: list[str] = []
    arguments = list(argv)
    while arguments:
        argument = arguments.pop(0)
        if argument == "--":
            rest += [argument, *arguments]
            break
        found = _match(argument)
        if found is None:
            rest.append(argument)
            continue
        name, value = found
        if value is _BARE and arguments and arguments[0].lower() in ("true", "false"):
            value = arguments.pop(0)
        if value is None:
            value = _following_value(name, arguments)
        _set_text(name, value)
    if not _GIVEN.complete:
        _GIVEN.tf_config = os.environ.get("TF_CONFIG")
    _GIVEN.complete = True
    return rest


def given() -> dict[str, str]:
    """Returns the text of every runtime flag on the command line, by name."""
    return dict(_GIVEN.texts)


def cluster_flags() -> dict[str, Any]:
    """Returns the values of the flags that describe a cluster, by name.

    The dict is empty where the program has described the cluster itself, in a TF_CONFIG that it has
    set: programs with flags of these names make such a TF_CONFIG of them, with roles of their own.
    """
    read_command_line()
    now = os.environ.get("TF_CONFIG")
    if now and now.strip() and now != _GIVEN.tf_config:
        return {}
    return {name: _VALUES[name].value for name in CLUSTER_FLAGS}


def get_flag(flag_name: str) -> Any:
    """The value of a runtime flag.

    Args:
        flag_name: name of the flag, such as "num_gpus". A flag of MoXing that does nothing here has
            the value that the program set, or else None.

    Raises:
        MoxKeyError: there is no such flag.
        MoxValueError: the command line, which is read now if it was not yet, has a wrong value.
    """
    if isinstance(flag_name, str) and flag_name in idle.IDLE:
        return idle.value(flag_name)
    name = _known(flag_name)
    read_command_line()
    return _VALUES[name].value


def set_flag(flag_name: str, value: Any) -> None:
    """Sets a runtime flag for the following runs; the value wins over the command line.

    Args:
        flag_name: name of the flag.
        value: a value of the flag's type, or text that can be read as one; None only if the default
            is None.

    Raises:
        MoxKeyError: there is no such flag.
        MoxTypeError, MoxValueError: the flag can't have this value.
    """
    if isinstance(flag_name, str) and flag_name in idle.IDLE:
        idle.keep(flag_name, value)
        return
    name = _known(flag_name)
    read_command_line()
    flag = _VALUES[name]
    flag.value = _checked(_spec(name), value)
    flag.using_default_value = False


@contextmanager
def overridden(**values: Any) -> Iterator[None]:
    """In the block, these flags have these values; after it, their values from before."""
    read_command_line()
    found = {name: _VALUES[name] for name in values}
    before = {name: (flag.value, flag.using_default_value) for name, flag in found.items()}
    try:
        for name, value in values.items():
            found[name].value = _checked(_spec(name), value)
        yield
    finally:
        for name, flag in found.items():
            flag.value, flag.using_default_value = before[name]


def register() -> None:
    """Makes the flags visible in absl's global FLAGS, which is `tf.flags.FLAGS`.

    A flag that the program defines itself, before or after, stays the program's. The program's
    parser and openmox's each read its value from the command line.
    """
    for spec in TABLE:
        if spec.name not in absl_flags.FLAGS:
            absl_flags.FLAGS[spec.name] = _VALUES[spec.name]


def read_command_line() -> None:
    """Reads a plain Python program's runtime flags once, and leaves them on its command line."""
    if not _GIVEN.complete:
        consume(sys.argv[1:])


def check_supported() -> None:
    """Refuses values with which no run of this version can run.

    Raises:
        MoxNotSupportedError: names the flag, its value and the values that run.
        MoxTypeError, MoxValueError: `tf.flags.FLAGS` has a value of a wrong type.
    """
    for spec in TABLE:
        value = _checked(spec, _VALUES[spec.name].value)
        if spec.only is not None and value not in spec.only:
            raise MoxNotSupportedError(
                f"{_given_as(spec, value)} is not supported. It is one of"
                f" {', '.join(name for name in spec.only if name)}; or leave it out."
            )


def patterns(flag_name: str) -> tuple[str, ...]:
    """Returns the comma-separated patterns of a flag.

    Raises:
        MoxValueError: a pattern is no regular expression.
    """
    text = get_flag(flag_name) or ""
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    for part in parts:
        try:
            re.compile(part)
        except (re.error, RecursionError, OverflowError) as error:
            raise MoxValueError(
                f"--{flag_name}: {shown(part)} is no regular expression ({error}). A plain part of"
                " a variable's name, such as 'logits', is one."
            ) from error
    return parts


def _known(name: str) -> str:
    if not isinstance(name, str):
        raise MoxTypeError(f"the name of a runtime flag is a string, not {shown(name)}.")
    if name not in FLAG_NAMES:
        raise MoxKeyError(
            f"there is no runtime flag {shown(name)}.{near_matches(name, FLAG_NAMES)} The flags"
            f" are: {', '.join(sorted(FLAG_NAMES))}. Flags of the script itself are in"
            " tf.flags.FLAGS."
        )
    return name


def _match(argument: str) -> tuple[str, str | None] | None:
    """Returns the flag that an argument names, with its value if the argument has one."""
    if not argument.startswith("-") or argument in ("-", "--"):
        return None
    name, equals, value = argument.lstrip("-").partition("=")
    if name in FLAG_NAMES:
        if equals:
            return name, value
        return name, _BARE if _VALUES[name].boolean else None
    negated = name.removeprefix("no")
    if name.startswith("no") and negated in FLAG_NAMES and _VALUES[negated].boolean:
        if equals:
            raise MoxValueError(
                f"{shown(argument, plain=True)}: --{name} takes no value. Write --{name} or"
                f" --{negated}=false."
            )
        return negated, "false"
    return None


def _following_value(name: str, arguments: list[str]) -> str:
    if not arguments or (arguments[0].startswith("-") and not _is_number(arguments[0])):
        raise MoxValueError(
            f"{origins.prefix(name)}--{name} needs a value: --{name}=VALUE."
            f"{origins.wants_quotes(name)}"
        )
    return arguments.pop(0)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _set_text(name: str, text: str) -> None:
    spec = _spec(name)
    flag = _VALUES[name]
    if text == "" and spec.kind != "string":
        # Platforms pass an empty value for a field that the user left empty.
        _GIVEN.texts.pop(name, None)
        flag.unparse()
        says = "it counts as not given"
        if spec.default is not None:
            says = f"its default {spec.default} is used"
        logs.warn("%sflag %s is empty: %s", origins.prefix(name, text), name, says)
        return
    flag.value = _checked(spec, text)
    flag.present += 1
    flag.using_default_value = False
    _GIVEN.texts[name] = text


def _checked(spec: FlagSpec, value: Any) -> Any:
    """Converts a value to the flag's type."""
    if value is None and spec.default is None:
        return None
    made = _of_kind(spec, value)
    if spec.least is not None and made < spec.least:
        raise MoxValueError(f"{_given_as(spec, value)}: it must be at least {spec.least}.")
    if spec.most is not None and made > spec.most:
        raise MoxValueError(f"{_given_as(spec, value)}: it must be at most {spec.most}.")
    return made


def _of_kind(spec: FlagSpec, value: Any) -> Any:
    if isinstance(value, str):
        try:
            return value if spec.kind == "string" else _VALUES[spec.name].parser.parse(value)
        except (ValueError, TypeError, OverflowError) as error:
            raise _bad_value(spec, value) from error
    # NumPy's booleans are no bool of Python, while its numbers count as numbers.
    truth = isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")
    if spec.kind == "boolean" and truth:
        return bool(value)
    if spec.kind == "integer" and not truth and isinstance(value, numbers.Integral):
        return operator.index(value)
    if spec.kind == "float" and not truth and isinstance(value, numbers.Real):
        try:
            return float(value)
        except OverflowError as error:
            raise _bad_value(spec, value) from error
    raise MoxTypeError(_expectation(spec, value))


def _bad_value(spec: FlagSpec, value: Any) -> MoxValueError:
    return MoxValueError(_expectation(spec, value))


def _expectation(spec: FlagSpec, value: Any) -> str:
    article = "an" if spec.kind == "integer" else "a"
    return f"{_given_as(spec, value)}: expected {article} {spec.kind}, got {shown(value)}."


def _given_as(spec: FlagSpec, value: Any) -> str:
    begin = origins.prefix(spec.name, value) if isinstance(value, str) else ""
    return f"{begin}--{spec.name}={shown(value, plain=True)}"


def _spec(name: str) -> FlagSpec:
    return next(spec for spec in TABLE if spec.name == name)
