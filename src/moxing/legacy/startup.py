"""The functions that openmox's .pth files in site-packages call for a plain `python script.py`.

Python reads `openmox.pth` at every start; it only wraps `sys.excepthook`, so nothing here is
imported before a program fails, unless `mox run` started the process: then it calls `as_child`.
While `mox legacy on` holds, a second file calls `rerun` first.
Nothing but the standard library's core is imported, and TensorFlow never.
"""

from __future__ import annotations

import os
import sys
import types

_GUARD = "MOX_LEGACY_PID"
_PACKAGES = (b"moxing", b"oneflow")
# The part of a file that is searched: no program is longer, but a data file named .py may be.
_MOST_BYTES = 1 << 20
_GONE = ("contrib", "estimator", "examples")
# tf.losses and tf.metrics are modules of Keras.
_TENSORFLOW = ("tensorflow", "keras", "tf_keras")
_LIBRARIES = ("site-packages", "dist-packages")
_OLD_METHODS = ("make_one_shot_iterator", "make_initializable_iterator")


def explain(
    kind: type[BaseException], error: BaseException, trace: types.TracebackType | None
) -> bool:
    """Says in one sentence what to do when TensorFlow 1.x code meets TensorFlow 2.x.

    Args:
        kind: not used; `sys.excepthook` passes it.
        error: the exception that is about to end the program.
        trace: the traceback of the exception.

    Returns:
        Whether the error is of this kind, and the sentence was printed.
    """
    del kind
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)
    # `mox run` prints its own messages.
    ours = type(getattr(main, "__loader__", None)).__module__.startswith("moxing.")
    if script is None or ours or os.environ.get("MOX_DEBUG") == "1":
        return False
    if (sentence := about_absent(error, script)) and _in_users_code(trace):
        print(f"mox: error: {sentence}", file=sys.stderr)
        return True
    if not (_about_tensorflow(error) and _in_users_code(trace) and imports_us(script)):
        return False
    name = _as_run(script)
    other = "let plain `python` do so with `mox legacy on`"
    if _port_helps(error):
        other = "port it by writing `import tensorflow.compat.v1 as tf` where it imports tensorflow"
    print(
        f"mox: error: {script} is written for TensorFlow 1.x ({error}): run it with"
        f" `mox run {name}`, or {other}.",
        file=sys.stderr,
    )
    return True


def about_absent(error: BaseException, script: str) -> str:
    """Returns advice on a missing package that openmox replaces; else an empty string."""
    if not isinstance(error, ModuleNotFoundError):
        return ""
    missing = (error.name or "").partition(".")[0]
    name = _as_run(script)
    if missing == "horovod":
        return (
            f"horovod is not installed: run this program with `mox run {name}`, or N processes"
            f" of it with `mox launch --workers=N {name}`; both give it moxing.horovod."
        )
    if missing == "uaitrain":
        return (
            f"uaitrain is not installed: run this program with `mox run {name}`, or as UAI Train"
            " does with `mox uai train`; both give it the platform's flags and cluster."
        )
    if missing != "oneflow":
        return ""
    return (
        f"oneflow is not installed: run this program with `mox run {name}`, which gives it"
        " moxing.flow, or write `import moxing.flow as flow`."
    )


def _as_run(script: str) -> str:
    """Returns the arguments of `mox run` that start the main program as it was started now."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is not None:
        return f"-m {spec.name.removesuffix('.__main__')}"
    return os.path.relpath(script) if os.path.isabs(script) else script


def as_child() -> None:
    """Lets a program that a program under `mox run` starts by a shell run under `mox run`, too."""
    words = sys.orig_argv[1:]
    if any(word == "-m" or word.endswith(".py") for word in words) and "-c" not in words:
        from moxing.legacy.program import children

        children.take_over(sys.orig_argv)


def rerun(all_old: bool = False) -> None:
    """Starts the program again under `mox run`, in this process, if it imports moxing or oneflow.

    Does nothing for `-m`, `-c`, interactive Python and programs that import neither.

    Args:
        all_old: whether to do so for programs written for TensorFlow 1.x, too.
    """
    if not sys.argv or not sys.argv[0].endswith(".py"):
        return
    if os.environ.get(_GUARD) == str(os.getpid()):
        return
    if not imports_us(sys.argv[0]) and not (all_old and _is_old(sys.argv[0])):
        return
    os.environ[_GUARD] = str(os.getpid())
    flags = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv)]
    # -P: a file moxing.py in the current folder must not be taken for the package.
    os.execv(sys.executable, [sys.executable, *flags, "-P", "-m", "moxing", "run", *sys.argv])


def _is_old(script: str) -> bool:
    """Whether a program's text shows that it is written for TensorFlow 1.x; prints a line if so."""
    if any(f"{os.sep}{folder}{os.sep}" in os.path.realpath(script) for folder in _LIBRARIES):
        return False
    from moxing.legacy.plain import vintage

    sign = vintage.sign(script)
    if sign:
        print(
            f"mox: {script} uses {sign}, gone from TensorFlow 2.x: running it as `mox run` does.",
            file=sys.stderr,
        )
    return bool(sign)


def imports_us(script: str) -> bool:
    """Whether a Python file imports moxing or oneflow, judged by its text."""
    if not os.path.isfile(script):
        # Reading a pipe would consume the program before Python reads it.
        return False
    try:
        with open(script, "rb") as file:
            source = file.read(_MOST_BYTES)
    except (OSError, ValueError):
        return False
    return any(package in source for package in _PACKAGES) and any(
        _imports(line.replace(b";", b" ; ").split()) for line in source.splitlines()
    )


def _imports(words: list[bytes]) -> bool:
    if words[:1] == [b"from"]:
        return len(words) > 1 and words[1].partition(b".")[0] in _PACKAGES
    if words[:1] != [b"import"]:
        return False
    return any(
        word.strip(b",").partition(b".")[0] in _PACKAGES
        for before, word in zip(words, words[1:], strict=False)
        if before != b"as"
    )


def _about_tensorflow(error: BaseException) -> bool:
    name = getattr(error, "name", None) or ""
    if isinstance(error, ImportError):
        # A missing TensorFlow needs other advice.
        missing = isinstance(error, ModuleNotFoundError) and name == "tensorflow"
        ported = ".compat.v1" in name
        return not missing and not ported and name.partition(".")[0] == "tensorflow"
    if not isinstance(error, AttributeError):
        return False
    owner = getattr(error, "obj", None)
    if isinstance(owner, types.ModuleType):
        return _was_in_v1(owner.__name__, name)
    return type(owner).__module__.startswith("tensorflow.") and name in _OLD_METHODS


def _was_in_v1(module: str, name: str) -> bool:
    """Whether a name that a module of TensorFlow 2.x lacks was in TensorFlow 1.x."""
    top, _, rest = module.partition(".")
    if top not in _TENSORFLOW or ".compat.v1" in module:
        return False
    v1 = getattr(getattr(sys.modules.get("tensorflow"), "compat", None), "v1", None)
    if v1 is None or name in _GONE:
        return top == "tensorflow"
    # tensorflow._api.v2.train stands for tf.train, and keras' losses stand for tf.losses.
    space = getattr(v1, rest.rpartition(".")[2], None) if rest else v1
    return space is not None and hasattr(space, name)


def _port_helps(error: BaseException) -> bool:
    """Whether tf.compat.v1 has the missing name; every missing method counts as one of v1's."""
    if isinstance(error, AttributeError):
        return error.name not in _GONE
    path = (getattr(error, "name", None) or "").split(".")[1:]
    if not isinstance(error, ModuleNotFoundError):
        # cannot import name 'contrib' from 'tensorflow'; only Python 3.12 has it as an attribute.
        path += str(error).split("'")[1:2]
    space = getattr(getattr(sys.modules.get("tensorflow"), "compat", None), "v1", None)
    for name in path:
        # In some versions, looking up a removed name raises a different error.
        if name in _GONE or not hasattr(space, name):
            return False
        space = getattr(space, name)
    return True


def _in_users_code(trace: types.TracebackType | None) -> bool:
    """Whether the innermost frame outside TensorFlow is also outside installed libraries."""
    last = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "/site-packages/tensorflow/" not in file:
            last = file
        trace = trace.tb_next
    return bool(last) and not any(f"/{folder}/" in last for folder in _LIBRARIES)
