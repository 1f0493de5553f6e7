"""`tf.flags`: the functions of `absl.flags`, with the argument names of TensorFlow 1.4 too."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from absl import flags as absl_flags

from moxing.errors import MoxValueError
from moxing.legacy.flags.tolerant_flags import TolerantFlags
from moxing.legacy.flags.whole_float import WholeFloat

# Attribute definitions to the calling module, not to this one, so that help lists them there.
absl_flags.disclaim_key_flags()

_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}

_SCALARS = (
    absl_flags.DEFINE_bool,
    absl_flags.DEFINE_boolean,
    absl_flags.DEFINE_float,
    absl_flags.DEFINE_integer,
    absl_flags.DEFINE_string,
)


def names(flags: TolerantFlags) -> dict[str, Callable[[], Any]]:
    """Returns the names of `tf.flags` that replace absl's: every DEFINE function, and FLAGS.

    Args:
        flags: the flags to which definitions are added.
    """
    found: dict[str, Callable[[], Any]] = {
        "FLAGS": lambda: flags,
        "_FlagValues": lambda: _flag_values(flags),
        "_FlagValuesWrapper": lambda: TolerantFlags,
    }
    for name in dir(absl_flags):
        if name.startswith("DEFINE"):
            define = _define(getattr(absl_flags, name), flags)
            found[name] = functools.partial(lambda function: function, define)
    return found


def _flag_values(flags: TolerantFlags) -> type:
    """Returns the class of `FLAGS` of TensorFlow 1.4, whose objects all showed the same flags.

    Notebooks make an object of the class so that their cells can define their flags again.
    """

    class Kind(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, TolerantFlags)

    class _FlagValues(metaclass=Kind):
        def __new__(cls) -> TolerantFlags:  # type: ignore[misc]
            flags.define_anew()
            return flags

    return _FlagValues


def _define(function: Callable[..., Any], flags: TolerantFlags) -> Callable[..., Any]:
    parameters = list(inspect.signature(function).parameters)
    place = parameters.index("flag_values") if "flag_values" in parameters else len(parameters)

    @functools.wraps(function)
    def define(*args: Any, **kwargs: Any) -> Any:
        for old, new in _OLD_NAMES.items():
            if old in kwargs:
                kwargs[new] = kwargs.pop(old)
        if len(args) <= place:
            kwargs.setdefault("flag_values", flags)
        if function is absl_flags.DEFINE_integer:
            args, kwargs = _whole_default(args, kwargs)
        try:
            made = function(*args, **kwargs)
        except (absl_flags.IllegalFlagValueError, TypeError) as error:
            default = _argument(args, kwargs, 1, "default")
            if function in _SCALARS and default is not None and not isinstance(default, str):
                return _define_as_it_is(args, kwargs, default)
            if isinstance(error, TypeError):
                raise
            raise MoxValueError(f"the default does not fit: {error}") from error
        if function is absl_flags.DEFINE_float:
            _keep_whole(_argument(args, kwargs, 0, "name"), _argument(args, kwargs, 1, "default"))
        return made

    def _define_as_it_is(args: tuple[Any, ...], kwargs: dict[str, Any], default: Any) -> Any:
        """Defines a flag whose default is of another type, which TensorFlow before 1.5 kept."""
        if len(args) > 1:
            args = (args[0], None, *args[2:])
        else:
            kwargs = {**kwargs, "default": None}
        made = function(*args, **kwargs)
        flag = flags._find(_argument(args, kwargs, 0, "name"))
        if flag is not None:
            flag.default = default
            if flag.using_default_value:
                flag.value = default
        return made

    def _keep_whole(name: str, default: Any) -> None:
        """Makes a default that is written as an integer one that can be a size."""
        flag = flags._find(name)
        if type(default) is int and flag is not None:
            flag.default = WholeFloat(default)
            if flag.using_default_value:
                flag.value = flag.default

    return define


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], place: int, name: str) -> Any:
    return args[place] if len(args) > place else kwargs.get(name)


def _whole_default(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Converts an integer flag's default that is written as 1e5 to an int."""
    default = _argument(args, kwargs, 1, "default")
    if isinstance(default, float) and default.is_integer():
        if len(args) > 1:
            return (args[0], int(default), *args[2:]), kwargs
        return args, {**kwargs, "default": int(default)}
    return args, kwargs
