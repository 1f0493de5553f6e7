"""Recognizes errors of Python 2 programs, so that messages can say that the program is Python 2."""

from __future__ import annotations

import re

_PORT = "This is Python 2; port the program to Python 3 (`mox port` does most of it)"

_BROKEN = "This looks like Python 2, but is not Python 2 either"
_BYTES = (
    "In Python 2 bytes and text were the same, in Python 3 they are not: open files of text without"
    " 'b', and call .decode('utf-8') on bytes or .encode('utf-8') on text where needed."
)
# Words of Python 3's messages about bytes and text.
_MIXED = (
    "a bytes-like object is required, not 'str'",
    "can't concat str to bytes",
    'can only concatenate str (not "bytes") to str',
    "first arg must be bytes or a tuple of bytes, not str",
    "argument should be integer or bytes-like object, not 'str'",
    "must be str, not bytes",
    "expected str instance, bytes found",
    "cannot use a string pattern on a bytes-like object",
)

# Name that only Python 2 has -> its replacement.
_NAMES = {
    "basestring": "str",
    "cmp": "(a > b) - (a < b)",
    "execfile": "exec(open(path).read())",
    "file": "open",
    "long": "int",
    "raw_input": "input",
    "reduce": "functools.reduce",
    "reload": "importlib.reload",
    "unichr": "chr",
    "unicode": "str",
    "xrange": "range",
}
_MODULES = {
    "ConfigParser": "configparser",
    "HTMLParser": "html.parser",
    "Queue": "queue",
    "StringIO": "io",
    "cPickle": "pickle",
    "cStringIO": "io",
    "commands": "subprocess",
    "urllib2": "urllib.request",
    "urlparse": "urllib.parse",
}
_METHODS = {
    "has_key": "the operator in",
    "iteritems": "items()",
    "iterkeys": "keys()",
    "itervalues": "values()",
}
# Names in error messages of Python 3's iterators and views, which were lists in Python 2.
_LISTS = {
    "dict_items": "d.items()",
    "dict_keys": "d.keys()",
    "dict_values": "d.values()",
    "filter": "filter(...)",
    "map": "map(...)",
    "zip": "zip(...)",
}
_OF_LISTS = re.compile(
    r"'(\w+)' object is not subscriptable|object of type '(\w+)' has no len\(\)"
    r"|unsupported operand type\(s\) for \+: '(\w+)' and '\w+'"
)
# Words in the messages of Python 3's parser that name a construct of Python 2.
_SYNTAX = (
    "Missing parentheses in call to",
    "multiple exception types must be parenthesized",
    "leading zeros in decimal integer",
    "invalid decimal literal",
    "inconsistent use of tabs",
)
# Words in the messages of Python 3's file reader about the bytes of a file.
_ENCODING = ("unknown encoding", "encoding problem", "Non-UTF-8 code", "can't decode byte ")


def is_encoding(error: SyntaxError) -> bool:
    """Whether an error says that a file's bytes do not fit the file's encoding."""
    message = error.msg or ""
    # Errors about a backslash in a string, as in 'C:\\Users', name other codecs.
    return "escape' codec" not in message and any(words in message for words in _ENCODING)


def about_syntax(error: SyntaxError) -> str:
    """Returns a sentence on a syntax error that Python 2 would not raise, or an empty text."""
    line = (error.text or "").strip()
    message = error.msg or ""
    if "escape' codec" in message:
        return "Write a backslash in a string as two, or r before the string."
    stopped = getattr(error, "python2_line", 0)
    place = f": see line {stopped}." if stopped else "."
    if any(words in message for words in _SYNTAX) or line.startswith(("print ", "exec ")):
        return f"{_BROKEN}{place}"
    if line.startswith("raise ") and "," in line:
        return f"{_BROKEN}{place}"
    return f"It is not Python 2 either{place}"


def about(error: BaseException) -> str:
    """Returns a sentence on a feature that only Python 2 has, or an empty text."""
    name = getattr(error, "name", None) or ""
    if isinstance(error, NameError) and name in _NAMES:
        return f"{_PORT}: instead of {name} write {_NAMES[name]}."
    if isinstance(error, ModuleNotFoundError) and name in _MODULES:
        return f"{_PORT}: instead of {name} import {_MODULES[name]}."
    if isinstance(error, TypeError) and any(words in str(error) for words in _MIXED):
        return _BYTES
    found = _OF_LISTS.search(str(error)) if isinstance(error, TypeError) else None
    call = _LISTS.get(next(filter(None, found.groups()))) if found else None
    if call:
        name = call.partition("(")[0]
        return f"In Python 2 {name} returned a list, in Python 3 it does not: write list({call})."
    of_dict = isinstance(error, AttributeError) and isinstance(getattr(error, "obj", None), dict)
    if of_dict and name in _METHODS:
        return f"{_PORT}: instead of {name} use {_METHODS[name]}."
    return ""
