"""The room of runtime flags can be read without TensorFlow."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_flags_imports_no_tensorflow() -> None:
    program = (
        "import importlib, pkgutil, sys, moxing.flags\n"
        "for module in pkgutil.iter_modules(moxing.flags.__path__):\n"
        "    importlib.import_module(f'moxing.flags.{module.name}')\n"
        "print(sorted(name for name in sys.modules if name == 'tensorflow'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_programs_find_the_flags_where_they_were() -> None:
    from moxing import flags
    from moxing.tensorflow import flags as where_it_was

    assert where_it_was.get_flag is flags.get_flag
    assert where_it_was.TABLE is flags.TABLE
