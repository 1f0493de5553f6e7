"""Names that Python's standard library had when TensorFlow 1.x was current, and has no longer."""

from __future__ import annotations

import collections
import collections.abc
import functools
import importlib.util
import inspect
import math
import random as _random
import re
import sys
import types
from collections.abc import Callable, Set
from typing import Any, NamedTuple

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import users_only

# Functions that had been methods of str for a long time.
_OF_TEXT = (
    *("capitalize", "center", "count", "expandtabs", "find", "index", "join", "ljust", "lower"),
    *("lstrip", "replace", "rfind", "rindex", "rjust", "rsplit", "rstrip", "split", "strip"),
    *("swapcase", "translate", "upper", "zfill"),
)
# Functions of `re` that get a pattern first.
_OF_PATTERNS = ("compile", "findall", "finditer", "fullmatch", "match", "search", "sub", "subn")
_FLAGS = re.compile(r"\(\?[aiLmsux]+\)")
_DISTRIBUTION = "Read /etc/os-release with platform.freedesktop_os_release() instead."


def specs() -> dict[str, Spec]:
    """Returns the faces of Python's own modules for the user's modules."""
    old = {
        "asyncio": {"coroutine": lambda: coroutine},
        "base64": {"encodestring": "base64:encodebytes", "decodestring": "base64:decodebytes"},
        "cgi": {"escape": lambda: escape},
        "collections": {
            name: f"collections.abc:{name}"
            for name in collections.abc.__all__
            if not hasattr(collections, name)
        },
        "fractions": {"gcd": lambda: gcd},
        "hmac": {"new": lambda: hmac_new},
        "inspect": {"formatargspec": lambda: formatargspec, "getargspec": lambda: getargspec},
        "html": {"parser": _spec("html.parser", {}, arrive=_parsers)},
        "json": {
            **{"dump": lambda: json_dump, "dumps": lambda: json_dumps},
            **{"load": lambda: json_load, "loads": lambda: json_loads},
        },
        "random": {"sample": lambda: sample, "seed": lambda: seed, "shuffle": lambda: shuffle},
        "re": {
            **{name: _with_global_flags(name) for name in _OF_PATTERNS},
            "split": lambda: split,
        },
        "string": {
            "letters": "string:ascii_letters",
            "lowercase": "string:ascii_lowercase",
            "maketrans": lambda: str.maketrans,
            "uppercase": "string:ascii_uppercase",
            **{name: _text_function(name) for name in _OF_TEXT},
            "joinfields": _text_function("join"),
            "splitfields": _text_function("split"),
            "atof": "builtins:float",
            "atoi": "builtins:int",
            "atol": "builtins:int",
        },
        "time": {"clock": "time:process_time"},
    }
    specs = {name: _spec(name, names) for name, names in old.items()}
    specs["platform"] = _spec(
        "platform", {}, gone={"dist": _DISTRIBUTION, "linux_distribution": _DISTRIBUTION}
    )
    specs["threading"] = _spec("threading", {}, arrive=_threads)
    suite = {"makeSuite": lambda: make_suite} if sys.version_info >= (3, 13) else {}
    specs["unittest"] = _spec("unittest", suite, arrive=_tests)
    etree = _spec("xml.etree", {"cElementTree": "xml.etree.ElementTree"})
    specs["xml"] = _spec("xml", {"etree": etree})
    if not _has_distutils():
        specs["distutils"] = _distutils()
    return specs


def _spec(
    module: str,
    names: dict[str, Any],
    gone: dict[str, str] | None = None,
    arrive: Callable[[], None] | None = None,
) -> Spec:
    if not _is_there(module):
        return Spec(names=names, gone=gone or {})
    return Spec((module,), names, gone=gone or {}, arrive=arrive, library=True, live=True)


def _is_there(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _has_distutils() -> bool:
    """Whether distutils can be imported: Python has it before 3.12, later setuptools brings it.

    Looking for distutils itself would let setuptools import itself, which takes half a second.
    """
    return sys.version_info < (3, 12) or _is_there("setuptools")


def _distutils() -> Spec:
    own = "moxing.legacy.libraries.distutils"
    hint = " distutils is gone since Python 3.12: pip install setuptools brings it back."
    names = {
        "dir_util": ("copy_tree", "mkpath", "remove_tree"),
        "spawn": ("find_executable",),
        "util": ("strtobool",),
        "version": ("LooseVersion", "StrictVersion"),
    }
    return Spec(
        names={
            module: Spec(names={name: f"{own}:{name}" for name in shown}, otherwise=hint)
            for module, shown in names.items()
        },
        otherwise=hint,
    )


# Libraries whose functions got annotations after the programs were written, or have ours.
_ANNOTATED_SINCE = frozenset(("tensorflow", "tf_keras", "keras", "numpy", "moxing"))


class ArgSpec(NamedTuple):
    """The result of `inspect.getargspec`."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """Returns the names and the default values of a function's arguments.

    Functions of TensorFlow had neither annotations nor wrappers in TensorFlow 1.x; theirs are
    looked through.

    Raises:
        ValueError: the function has keyword-only arguments, or annotations.
        TypeError: the object is no Python function.
    """
    is_new = str(getattr(func, "__module__", "")).partition(".")[0] in _ANNOTATED_SINCE
    full = inspect.getfullargspec(inspect.unwrap(func) if is_new else func)
    if full.kwonlyargs or (full.annotations and not is_new):
        raise ValueError(
            "Function has keyword-only parameters or annotations, use inspect.signature() API which"
            " can support them"
        )
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def formatargspec(
    args: Any,
    varargs: str | None = None,
    varkw: str | None = None,
    defaults: Any = None,
    kwonlyargs: Any = (),
    kwonlydefaults: Any = None,
    annotations: Any = None,
    formatarg: Callable[[str], str] = str,
    formatvarargs: Callable[[str], str] = "*{}".format,
    formatvarkw: Callable[[str], str] = "**{}".format,
    formatvalue: Callable[[Any], str] = "={!r}".format,
    formatreturns: Callable[[str], str] = " -> {}".format,
    formatannotation: Callable[[Any], str] = inspect.formatannotation,
) -> str:
    """Returns the text of a signature, such as `(a, b=2, *c, **d)`, from its parts.

    Args:
        args: the names of the arguments.
        varargs, varkw: the names of `*` and `**`, if any.
        defaults: the default values of the last of `args`.
        kwonlyargs, kwonlydefaults: arguments by name only, and a dict of their default values.
        annotations: a dict of annotations by name; that of the result is "return".
        formatarg, formatvarargs, formatvarkw, formatvalue, formatreturns, formatannotation: return
            the text of a part.
    """
    known, only = annotations or {}, kwonlydefaults or {}

    def shown(name: str) -> str:
        note = f": {formatannotation(known[name])}" if name in known else ""
        return formatarg(name) + note

    values = dict(zip(reversed(args), reversed(defaults or ()), strict=False))
    parts = [shown(name) + (formatvalue(values[name]) if name in values else "") for name in args]
    if varargs is not None:
        parts.append(formatvarargs(shown(varargs)))
    elif kwonlyargs:
        parts.append("*")
    for name in kwonlyargs:
        parts.append(shown(name) + (formatvalue(only[name]) if name in only else ""))
    if varkw is not None:
        parts.append(formatvarkw(shown(varkw)))
    result = formatreturns(formatannotation(known["return"])) if "return" in known else ""
    return f"({', '.join(parts)}){result}"


def coroutine(func: Callable[..., Any]) -> Callable[..., Any]:
    """`asyncio.coroutine`: makes a coroutine function of a generator function, or of any other."""
    if inspect.iscoroutinefunction(func):
        return func
    if inspect.isgeneratorfunction(func):
        return types.coroutine(func)

    @functools.wraps(func)
    def waits(*args: Any, **kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        if inspect.isgenerator(result):
            result = yield from result
        elif inspect.isawaitable(result):
            result = yield from result.__await__()
        return result

    return types.coroutine(waits)


def hmac_new(key: Any, msg: Any = None, digestmod: Any = None) -> Any:
    """`hmac.new`, whose digest was MD5 by default until Python 3.7."""
    import hmac

    return hmac.new(key, msg, digestmod or "md5")


def _with_global_flags(name: str) -> Callable[[], Callable[..., Any]]:
    """Returns a function of `re` that takes flags such as `(?i)` anywhere in a pattern.

    Until Python 3.10 they counted for the whole pattern wherever they stood.
    """
    function = getattr(re, name)

    @functools.wraps(function)
    def called(pattern: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(pattern, *args, **kwargs)
        except re.error as error:
            if not error.msg.startswith("global flags not at the start"):
                raise
        return function(_flags_first(pattern), *args, **kwargs)

    return lambda: called


def _flags_first(pattern: Any) -> Any:
    """Moves the global flags of a pattern to its start."""
    while True:
        try:
            re.compile(pattern)
            return pattern
        except re.error as error:
            # Only flags that the compiler refuses are moved: `[(?i)]` is a set of characters.
            text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
            place = error.pos
            flags = None if place is None else _FLAGS.match(text, place)
            if flags is None or not error.msg.startswith("global flags not at the start"):
                raise
            text = flags.group() + text[:place] + text[flags.end() :]
            pattern = text.encode("latin-1") if isinstance(pattern, bytes) else text


def gcd(a: Any, b: Any) -> Any:
    """Returns the greatest common divisor, with the sign of `b`, or of `a` if `b` is 0."""
    if type(a) is type(b) is int:
        return math.copysign(1, b or a).__int__() * math.gcd(a, b)
    while b:
        a, b = b, a % b
    return a


def escape(s: str, quote: bool = False) -> str:
    """Returns `s` with `&`, `<`, `>` and, if `quote`, `"` escaped for HTML."""
    s = s.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return s.replace('"', "&quot;") if quote else s


def json_loads(s: Any, encoding: Any = None, **options: Any) -> Any:
    """`json.loads`, which had an argument `encoding` without effect until Python 3.9."""
    import json

    return json.loads(s, **options)


def json_load(fp: Any, encoding: Any = None, **options: Any) -> Any:
    """`json.load`, which had an argument `encoding` without effect until Python 3.9."""
    import json

    return json.load(fp, **options)


def json_dumps(obj: Any, encoding: Any = None, **options: Any) -> str:
    """`json.dumps`, whose argument `encoding` was of Python 2."""
    import json

    return json.dumps(obj, **options)


def json_dump(obj: Any, fp: Any, encoding: Any = None, **options: Any) -> None:
    """`json.dump`, whose argument `encoding` was of Python 2."""
    import json

    json.dump(obj, fp, **options)


def seed(a: Any = None, version: int = 2) -> None:
    """`random.seed`, also of other objects, by their hash, as until Python 3.10."""
    plain = isinstance(a, int | float | str | bytes | bytearray | type(None))
    _random.seed(a if plain else hash(a), version)


def shuffle(x: Any, random: Callable[[], float] | None = None) -> None:
    """`random.shuffle`; `random`, until Python 3.10, is a function that returns numbers below 1."""
    if random is None:
        _random.shuffle(x)
        return
    for last in reversed(range(1, len(x))):
        place = int(random() * (last + 1))
        x[last], x[place] = x[place], x[last]


def sample(population: Any, k: int, **options: Any) -> list[Any]:
    """`random.sample`, also of sets, in their order of iteration."""
    if isinstance(population, Set):
        population = tuple(population)
    return _random.sample(population, k, **options)


def split(pattern: Any, string: Any, maxsplit: int = 0, flags: Any = 0) -> list[Any]:
    """`re.split`, where an empty match of a pattern such as `\\s*` does not part the text.

    Since Python 3.7 it does, so that `re.split(r"(\\W+)?", "a b")` parts every letter. A pattern
    that has empty matches alone, such as a look-ahead, was an error before, and parts as it does
    now.
    """
    compiled = _with_global_flags("compile")()(pattern, flags)
    if compiled.match(string[:0]) is None or compiled.search(string) is None:
        return compiled.split(string, maxsplit)
    parts: list[Any] = []
    last = 0
    for match in compiled.finditer(string):
        if maxsplit and len(parts) >= maxsplit * (compiled.groups + 1):
            break
        if match.end() > match.start():
            parts += [string[last : match.start()], *match.groups()]
            last = match.end()
    return [*parts, string[last:]] if parts else compiled.split(string, maxsplit)


def _text_function(name: str) -> Callable[[], Callable[..., Any]]:
    def function(text: Any, *args: Any) -> Any:
        if name == "join":
            return (args[0] if args else " ").join(text)
        return getattr(text, name)(*args)

    function.__name__ = name
    return lambda: function


def make_suite(test_case: type, prefix: str = "test") -> Any:
    """Returns all tests of a class whose names begin with `prefix`."""
    import unittest

    loader = unittest.TestLoader()
    loader.testMethodPrefix = prefix
    return loader.loadTestsFromTestCase(test_case)


def _parsers() -> None:
    import html
    import html.parser

    users_only.add(html.parser.HTMLParser, "unescape", lambda parser, s: html.unescape(s))


def _threads() -> None:
    import threading

    users_only.add(threading.Thread, "isAlive", threading.Thread.is_alive)


# Method of unittest.TestCase before Python 3.12 -> its name now.
_TESTS = {
    "assertEquals": "assertEqual",
    "assertNotEquals": "assertNotEqual",
    "assertAlmostEquals": "assertAlmostEqual",
    "assertNotAlmostEquals": "assertNotAlmostEqual",
    "assertRegexpMatches": "assertRegex",
    "assertNotRegexpMatches": "assertNotRegex",
    "assertRaisesRegexp": "assertRaisesRegex",
    "assertItemsEqual": "assertCountEqual",
    "assert_": "assertTrue",
    "failUnless": "assertTrue",
    "failIf": "assertFalse",
    "failUnlessEqual": "assertEqual",
}


def _tests() -> None:
    import unittest

    for old, new in _TESTS.items():
        users_only.add(unittest.TestCase, old, getattr(unittest.TestCase, new))
