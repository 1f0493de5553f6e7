"""Finds evidence in a program's text that the program is written for TensorFlow 1.x.

The main program and the imported modules beside it are read. Evidence is a name of TensorFlow 1.x
that the installed TensorFlow lacks, or a file path that is given to Keras' `load_data`. A name that
depends on a check of the version, or whose lack the program catches, is no evidence.
"""

from __future__ import annotations

import ast

from moxing.legacy.plain import lost_names, texts

_TENSORFLOW = "tensorflow"


def sign(script: str) -> str:
    """Returns the evidence, such as `tf.Session (line 3)`, or an empty text."""
    for use in texts.uses(script, (_TENSORFLOW,)):
        if is_lost(use.path) and use.call is None:
            return str(use)
        if use.call is not None and _reads_a_path(use.path, use.call):
            return f"a path in load_data ({use.where})"
    return ""


def is_lost(path: str) -> bool:
    """Whether a dotted name was in TensorFlow 1.x, and the installed TensorFlow lacks it."""
    first, *rest = path.split(".")
    return first == _TENSORFLOW and bool(rest) and lost_names.is_lost(rest)


def _reads_a_path(path: str, call: ast.Call) -> bool:
    """Whether Keras' `load_data` is called with more than the name of a file in its cache."""
    if ".keras.datasets." not in path or not path.endswith(".load_data"):
        return False
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "path")]
    return any(not isinstance(value, ast.Constant) or "/" in str(value.value) for value in given)
