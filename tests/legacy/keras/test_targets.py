"""Every name that the Keras face promises is there: `from ... import *` asks for all of them."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import ast, os, re
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow
from moxing.legacy.face import faces
from moxing.legacy.keras import spec

found = 0
with open(spec.__file__) as stream:
    tree = ast.parse(stream.read())
for node in ast.walk(tree):
    if not isinstance(node, ast.JoinedStr):
        continue
    try:
        target = eval(compile(ast.Expression(node), "target", "eval"), vars(spec))
    except NameError:  # Of names that a function is given.
        continue
    if re.fullmatch(r"tf_keras[a-z_0-9.]*(:[A-Za-z_0-9.]+)?", target):
        faces.resolve(target)
        found += 1
print("resolved", found)
"""


def test_every_target_of_the_keras_face_is_there() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) >= 20
