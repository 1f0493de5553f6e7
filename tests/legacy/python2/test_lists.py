"""Files that Python 3 can read, but that use map, filter and zip as Python 2 does."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from moxing.legacy.python2 import port


def _ported(text: str) -> Any:
    return port.parse_ported(textwrap.dedent(text).encode(), "old.py")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            "sizes = map(int, '3,4'.split(','))\nvalue = [sizes[i] for i in range(len(sizes))]",
            [3, 4],
        ),
        ("def f():\n    m = map(int, '12')\n    return m[1]\nvalue = f()", 2),
        (
            "pairs = zip([1, 2], 'ab')\npairs.sort(reverse=True)\nvalue = pairs",
            [(2, "b"), (1, "a")],
        ),
        ("value = filter(None, [0, 5])[0]", 5),
        ("import numpy as np\nvalue = np.array(map(int, '78')).tolist()", [7, 8]),
        ("value = len(zip([1], [2]))", 1),
        ("value = dict(record_defaults={1: 2}.values())['record_defaults']", [2]),
        ("value = dict(vocabulary_list=map(str, [1, 2]))['vocabulary_list']", ["1", "2"]),
        (
            "sizes = map(int, '8-4'.split('-'))\nvalue = dict(hidden_units=sizes)['hidden_units']",
            [8, 4],
        ),
        ("seen = map(str, [1])\ndef f(): return seen[0]\nvalue = f()", "1"),
        ("a, b = {1: 2}, {3: 4}\nvalue = a.values() + b.values()", [2, 4]),
        ("def f(d):\n    return ['z'] + d.keys()\nvalue = f({'y': 1})", ["z", "y"]),
        ("value = {1: 2}.keys()[0] / 2", 0),
        ("value = {1: 2, 3: 4}.items()[1:]", [(3, 4)]),
        ("keys = {3: 4, 1: 2}.keys()\nkeys.sort()\nvalue = keys", [1, 3]),
        ("m = map(int, '7')\nvalue = len(m) + m[0] / 2", 4),
    ],
)
def test_lists_of_python_2_are_lists(text: str, value: Any, capsys) -> None:
    tree = _ported(text)
    assert tree is not None
    values: dict[str, Any] = {"__name__": "old"}
    exec(compile(tree, "old.py", "exec"), values)
    assert values["value"] == value
    assert "old.py is Python 2 (line " in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "sizes = list(map(int, '34'))\nvalue = sizes[0] / 2",
        "m = map(int, '34')\nm = list(m)\nvalue = m[0]",
        "m = map(int, '34')\nfor n in m: print(n)",
        "def f(m): return m[0]\nm = map(int, '34')\nf(list(m))",
        "from six.moves import map\nm = map(int, '34')\nm[0]",
        "from helpers import *\nm = map(int, '34')\nm[0]",
        "m = map(int, '34')\nprint(f'{m[0]}')",
        "import sys\nm = map(int, '34')\nif sys.version_info[0] < 3:\n    print(m[0])",
        "class A:\n    m = map(int, '34')\nm = [1]\nm[0]",
        "def f():\n    global m\n    m = list(m)\nm = map(int, '34')\nf()\nm[0]",
        "import pandas as pd\nvalue = pd.DataFrame({'a': [1]}).keys()[0]",
        "keys = sorted({1: 2}.keys())\nkeys.sort()",
        "keys = {1: 2}.keys()\nkeys = list(keys)\nkeys.sort()",
        "value = list({1: 2}.keys())[0], {1: 2}.get(1) + 1, {1: 2}.keys() | {3}",
        "class A:\n    def f(self): return self.values(1)[0], self.keys(0) + self.keys(1)",
        "d = {1: 2}\nprint(f'{d.keys()[0]}')",
        "keys = {1: 2}.keys()\nprint(len(keys))",
        "value = dict(vocabulary_list={1: 2}.keys(), record_defaults=list({1: 2}.values()))",
        "value = dict(vocabulary_list=list(map(str, [1])), others=map(str, [2]))",
    ],
)
def test_programs_of_python_3_stay(text: str) -> None:
    assert _ported(text) is None


def test_files_that_autograph_writes_are_not_named(capsys) -> None:
    text = b"def f():\n    return zip([1], [2])[0]\n"
    assert port.parse_ported(text, "/tmp/__autograph_generated_file7.py") is not None
    assert capsys.readouterr().err == ""
