"""Programs of Python 2 do what they did there."""

from __future__ import annotations

import csv
import io
import sys
import textwrap
import traceback
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moxing.errors import MoxValueError
from moxing.legacy.python2 import port


def _run(source: str, **given: Any) -> dict[str, Any]:
    """What a program of Python 2 leaves in its names."""
    text = textwrap.dedent(source)
    values: dict[str, Any] = {"__name__": "old", **given}
    tree = port.parse_ported(text.encode(), "old.py")
    assert tree is not None, "it was taken for Python 3"
    exec(compile(tree, "old.py", "exec"), values)
    return values


def _value(expression: str, **given: Any) -> Any:
    return _run(f"print ''\nvalue = {expression}\n", **given)["value"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7 / 2", 3),
        ("-7 / 2", -4),
        ("7 / 2.", 3.5),
        ("n / 2 / 2", 2),
        ("(n + 1) / (n - 4)", 2),
        ("float(n) / 2", 4.5),
        ("1. * n / 2", 4.5),
        ("len('abc') / 2", 1),
        ("n / m", 2.25),
        ("True / 2", 0),
        ("07 + 0L + 0x10L", 23),
        ("1 <> 2", True),
        ("`n`", "9"),
        ("map(str, [1, 2])", ["1", "2"]),
        ("filter(None, [0, 1])", [1]),
        ("zip('ab', 'cd')[0]", ("a", "c")),
        ("range(3) + range(2)", [0, 1, 2, 0, 1]),
        ("{'a': 1}.keys()[0]", "a"),
        ("{'a': 1}.items() + [2]", [("a", 1), 2]),
        ("sorted({'b': 2, 'a': 1}.iteritems())", [("a", 1), ("b", 2)]),
        ("{1: 2}.has_key(1)", True),
        ("sum(xrange(4))", 6),
        ("reduce(lambda a, b: a * b, [2, 3, 4])", 24),
        ("isinstance(3, (int, long))", True),
        ("isinstance('x', basestring)", True),
        ("unicode('x') + unichr(233)", "xé"),
        ("unicode('x', 'utf-8')", "x"),
        ("u'\\xe9'.encode('utf-8') + '!'", "é!"),
        ("'%s' % u'\\xe9'.encode('utf-8')", "é"),
        ("'abc'.decode('utf-8')", "abc"),
        ("'abc'.encode('hex')", "616263"),
        ("sorted([3, 1, 2], cmp=lambda a, b: cmp(b, a))", [3, 2, 1]),
        ("sorted([3, 1, 2], lambda a, b: b - a)", [3, 2, 1]),
        ("[round(0.5), round(-2.5), round(2.675, 2), round(7)]", [1.0, -3.0, 2.67, 7.0]),
        ("'C:\\Users'", "C:\\Users"),
    ],
)
def test_values(expression: str, value: Any) -> None:
    found = _value(expression, n=9, m=4.0)

    assert found == value
    assert type(found) is type(value)


def test_arrays_are_divided_as_their_numbers_are() -> None:
    assert _value("x / 2", x=np.arange(5)).tolist() == [0, 0, 1, 1, 2]
    assert _value("x / 2", x=np.arange(3.0)).tolist() == [0.0, 0.5, 1.0]
    assert _value("x / y", x=np.int64(7), y=np.uint8(2)) == 3


def test_what_divides_in_its_own_way_is_asked() -> None:
    class Length:
        def __div__(self, other: int) -> str:
            return f"over {other}"

        def __rdiv__(self, other: int) -> str:
            return f"{other} over"

    assert _value("x / 2", x=Length()) == "over 2"
    assert _value("2 / x", x=Length()) == "2 over"


def test_division_in_place() -> None:
    values = _run(
        """
        print 'in place'
        n = 7
        n /= 2
        ints = x
        ints /= 2
        floats = y
        floats /= 4
        class Holder: pass
        h = Holder()
        h.items = [9, 9]
        i = 0
        h.items[i + 1] /= 2
        """,
        x=(x := np.arange(4)),
        y=(y := np.ones(2)),
    )

    assert values["n"] == 3
    assert x.tolist() == [0, 0, 1, 1]
    assert y.tolist() == [0.25, 0.25]
    assert values["h"].items == [9, 4]


def test_division_of_the_future() -> None:
    assert _run("from __future__ import division\nx = 7 / 2\nprint x\n")["x"] == 3.5


def test_statements(capsys: pytest.CaptureFixture[str]) -> None:
    values = _run(
        """
        import sys
        reload(sys); sys.setdefaultencoding('utf-8')
        print >>sys.stderr, 'to %s' % 'stderr'
        print 'a', 1,
        print ('b')
        try:
        \traise ValueError, 'bad'
        except ValueError, e:
                text = e.message
        def area((w, h), scale=1):
            return w * h * scale
        size = area((2, 3))
        exec 'z = 5' in globals()
        class Numbers:
            __metaclass__ = type
            def __init__(self): self.n = 0
            def __nonzero__(self): return False
            def __iter__(self): return self
            def next(self):
                self.n += 1
                if self.n > 2: raise StopIteration
                return self.n
        listed = list(Numbers())
        first = Numbers().next()
        empty = not Numbers()
        """
    )

    output = capsys.readouterr()
    assert output.out == "a 1 b\n"
    assert output.err.endswith("to stderr\n")
    assert (values["text"], values["size"], values["z"]) == ("bad", 6, 5)
    assert (values["listed"], values["first"], values["empty"]) == ([1, 2], 1, True)


def test_one_line_names_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    port.parse_ported(b"x = 1\nprint x\n", "/p/old.py")

    assert capsys.readouterr().err == (
        "mox: /p/old.py is Python 2 (line 2: print x): it is ported as it is imported;"
        " `mox port /p/old.py` shows how.\n"
    )


def test_a_long_line_is_cut_visibly(capsys: pytest.CaptureFixture[str]) -> None:
    port.parse_ported(
        b"print 'long, ' + ', '.join('%s words' % word for word in many)\n", "/p/a.py"
    )
    port.parse_ported(b"print 'x', " + b"y" * 49 + b"\n", "/p/b.py")

    first, second = capsys.readouterr().err.splitlines()
    assert "(line 1: print 'long, ' + ', '.join('%s words' % word for word in ...): it is" in first
    assert f"print 'x', {'y' * 49}): it is" in second


def test_files_of_text_hold_any_bytes(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes("é\r\n".encode() + b"\xff\n")
    values = _run(
        """
        text = open(folder + '/in.txt').read()
        lines = file(folder + '/in.txt', 'rU').readlines()
        out = open(folder + '/out.txt', 'w')
        print >>out, 'n', 1
        out.write(text)
        out.write(u'\\xe9'.encode('latin-1'))
        out.close()
        with open(folder + '/more.txt', 'wt') as out:
            print >>out, 1
        with open(folder + '/more.txt', 'at') as out:
            out.write('2')
        more = open(folder + '/more.txt', 'rt').read(), open(folder + '/more.txt', 'r+t').read(1)
        """,
        folder=str(tmp_path),
    )

    assert values["lines"][0] == "é\n"
    assert values["more"] == ("1\n2", "1")
    assert (tmp_path / "out.txt").read_bytes() == b"n 1\n" + b"\xc3\xa9\r\n\xff\n" + b"\xe9"


def test_binary_files_accept_text(tmp_path: Path) -> None:
    values = _run(
        """
        import json, os
        with open(folder + '/map.json', 'wb') as f:
            json.dump({'a': 1}, f)
        out = open(folder + '/mixed', 'w+b')
        print >>out, 'name', 1 / 2
        out.seek(0)
        text = out.readlines()
        out.write('\\x00\\x01'.encode('latin-1'))
        out.seek(0)
        data = out.read()
        out.close()
        at_once = open(folder + '/at_once', 'ab', 0)
        at_once.writelines(['x', 'y'])
        seen = open(folder + '/at_once', 'rb').read()
        lines = os.fdopen(os.open(folder + '/log', os.O_CREAT | os.O_WRONLY), 'w', 0)
        lines.write('said')
        said = open(folder + '/log').read()
        """,
        folder=str(tmp_path),
    )

    assert (tmp_path / "map.json").read_bytes() == b'{"a": 1}'
    assert values["text"] == ["name 0\n"]
    assert values["data"] == b"name 0\n\x00\x01"
    assert (values["seen"], values["said"]) == (b"xy", "said")


@pytest.mark.parametrize("kind", ["TemporaryFile", "NamedTemporaryFile"])
def test_temporary_files_accept_text(kind: str, tmp_path: Path) -> None:
    values = _run(
        f"""
        import os, tempfile
        from tempfile import {kind} as Made, mkdtemp
        pairs = Made(prefix='p', dir=folder)
        for word in ('b', 'a'):
            print >>pairs, word
        pairs.seek(0)
        text = [line.strip() + '.' for line in pairs]
        rest = pairs.readline(), pairs.read()
        pairs.close()
        left = os.listdir(folder)
        plain = tempfile.{kind}('wb', -1, '.bin', 'p', folder)
        plain.write(b'\\x80')
        plain.close()
        """,
        folder=str(tmp_path),
    )

    assert values["text"] == ["b.", "a."]
    assert values["rest"] == ("", "")
    assert values["left"] == []
    assert list(tmp_path.iterdir()) == []


def test_what_a_named_file_holds_is_there_by_its_name(tmp_path: Path) -> None:
    values = _run(
        """
        import tempfile
        kept = tempfile.NamedTemporaryFile(dir=folder, delete=False)
        kept.write(u'\\xe9t\\xe9')
        kept.flush()
        seen = open(kept.name).read()
        with tempfile.NamedTemporaryFile('w', dir=folder) as other:
            print >>other, 'x'
        name = kept.name
        kept.close()
        """,
        folder=str(tmp_path),
    )

    assert values["seen"] == "été"
    assert [str(path) for path in tmp_path.iterdir()] == [values["name"]]
    assert Path(values["name"]).read_text() == "été"


def test_keys_that_the_program_encodes_are_those_that_it_reads() -> None:
    values = _run(
        """
        def encoded(d):
            return dict((key.encode('UTF-8'), value) for key, value in d.items())
        vocabulary = encoded({u'caf\\xe9': 1, u'tea': 2})
        pairs = dict([(word.encode('utf-8'), 0) for word in [u'a']])
        shown = {word.encode('utf-8'): 0 for word in [u'a']}
        display = {u'a'.encode('utf-8'): 0}
        tea = u'tea'
        found = [
            vocabulary[tea.encode('utf8')], vocabulary.get(tea.encode('utf8')),
            tea.encode('utf8') in vocabulary, tea.encode('utf8') == 'tea',
        ]
        parts = u't\\xe9 a'.encode('utf8').split(' ')
        data = (u'a'.encode('utf8'), u'b'.encode('utf8'))
        print data
        """
    )

    assert values["vocabulary"] == {"café": 1, "tea": 2}
    assert values["pairs"] == values["shown"] == values["display"] == {"a": 0}
    assert values["found"] == [2, 2, True, True]
    assert values["parts"] == ["té", "a"]
    assert values["data"] == (b"a", b"b")


def test_words_of_messages_are_text_and_pictures_are_bytes() -> None:
    lists = types.SimpleNamespace(
        value=["caf\xe9 one".encode(), b"\x89PNG", b"\xff\xd8", b"a\x00", b"", b"3\n"]
    )
    values = _run(
        """
        words = feature.bytes_list.value[0].split(' ')
        items = [feature.bytes_list.value[i] for i in range(1, 6)]
        first = feature.bytes_list.value[:2]
        feature.bytes_list.value[0] = b'x'
        print words
        """,
        feature=types.SimpleNamespace(bytes_list=lists),
    )

    assert values["words"] == ["café", "one"]
    assert values["items"] == [b"\x89PNG", b"\xff\xd8", b"a\x00", "", "3\n"]
    assert values["first"] == ["café one", b"\x89PNG"]
    assert lists.value[0] == b"x"


def test_functions_of_graphs_get_words_as_text() -> None:
    values = _run(
        """
        import numpy as np
        import tensorflow.compat.v1 as tf
        from tensorflow.compat.v1 import py_func

        def other(name, names, number):
            kept.append((names.tolist(), number))
            return name.replace('.jpg', '.png') + '?'

        with tf.Graph().as_default(), tf.Session() as session:
            words = tf.constant([b'a b', b'caf\\xc3\\xa9', b'\\xff\\xd8'])
            new = tf.py_func(other, ['x.jpg', words, 7 / 2], tf.string)
            picture = py_func(inp=[b'\\xff\\xd8'], func=lambda data: data[::-1], Tout=tf.string)
            half = tf.py_func(lambda size: np.int64(size / 2), [np.int64(7)], tf.int64)
            seen = session.run([new, picture, half])
        print seen
        """,
        kept=(kept := []),
    )

    assert values["seen"] == [b"x.png?", b"\xd8\xff", 3]
    assert kept == [(["a b", "caf\xe9", b"\xff\xd8"], 3)]


def test_a_py_func_of_the_program_is_left_alone() -> None:
    values = _run("def py_func(data):\n    return data\nprint ''\nvalue = py_func(b'a')\n")
    assert values["value"] == b"a"


def test_pickles_of_python_2(tmp_path: Path) -> None:
    (tmp_path / "old.pkl").write_bytes(b"(dp0\nS'label'\np1\nS'caf\\xe9'\np2\ns.")
    values = _run(
        """
        import cPickle as pkl, os
        from cPickle import loads
        old = pkl.load(open(folder + '/old.pkl'))
        pkl.dump({'w': [1, 2.5]}, open(folder + '/new.pkl', 'w'))
        new = loads(open(folder + '/new.pkl').read())
        print new
        """,
        folder=str(tmp_path),
    )

    assert values["old"] == {"label": "caf\xe9"}
    assert values["new"] == {"w": [1, 2.5]}
    assert (tmp_path / "new.pkl").read_bytes().startswith(b"(dp0\n")


def test_files_in_memory() -> None:
    values = _run(
        """
        import StringIO, cStringIO
        from StringIO import StringIO as Memory
        s = StringIO.StringIO()
        print >>s, 'text', 1
        text = s.getvalue()
        lines = list(Memory('a\\nb'))
        raw = cStringIO.StringIO(data).read()
        """,
        data=b"\x00\xff",
    )

    assert values["text"] == "text 1\n"
    assert values["lines"] == ["a\n", "b"]
    assert values["raw"] == b"\x00\xff"


def test_csv_files_are_binary(tmp_path: Path) -> None:
    values = _run(
        """
        import csv
        with open(path, 'wb') as f:
            csv.writer(f).writerow(['a', 1 / 2])
        rows = list(csv.reader(open(path, 'rb')))
        print rows
        """,
        path=str(tmp_path / "x.csv"),
    )

    assert values["rows"] == [["a", "0"]]
    assert list(csv.reader(io.StringIO((tmp_path / "x.csv").read_text()))) == [["a", "0"]]


def test_errors_name_the_lines_of_the_file() -> None:
    source = (
        "import os\n\ndef f((a, b)):\n    return reduce(max, [a]) + undefined\n\nprint f((1, 2))\n"
    )
    with pytest.raises(NameError) as raised:
        _run(source)

    frames = traceback.extract_tb(raised.value.__traceback__)
    assert [(frame.name, frame.lineno) for frame in frames if frame.filename == "old.py"] == [
        ("<module>", 6),
        ("f", 4),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "x = 7 / 2\n",
        "try:\n    import cPickle as pickle\nexcept ImportError:\n    import pickle\n",
        "from six.moves import xrange\nfor i in xrange(2): pass\n",
        "import sys\nif sys.version_info[0] < 3:\n    text = unicode\nelse:\n    text = str\n",
        "from tools import is_py2\nif is_py2:\n    text = unicode('a')\n",
        "def f(s):\n    if is_python3:\n        return s\n    return unicode(s)\n",
        "import sys\nOLD = sys.version_info < (3,)\nkind = unicode if OLD else str\n",
        "def f(s): return isinstance(s, str) or (_PY2 and isinstance(s, unicode))\n",
        "def f(s):\n    for c in s:\n        if tools.IS_PY3: break\n        unichr(c)\n",
        "try:\n    xrange\nexcept NameError:\n    xrange = range\nprint(xrange(3))\n",
        "from utils import *\nfor i in xrange(2): pass\n",
        "def f(long): return long\n",
        "import six\nfor k, v in six.iteritems({}): pass\n",
        "class A:\n    def has_key(self, key): return key == 1\nprint(A().has_key(1))\n",
        "from store import Store\nname: str = 'a'\nprint(Store().has_key(name), 7 / 2)\n",
        "print('x')\n",
        "# xrange\n",
    ],
)
def test_programs_of_both_pythons_are_left_alone(source: str) -> None:
    assert port.port(source.encode(), "new.py") is None


@pytest.mark.parametrize(
    ("source", "sign"),
    [
        ("for i in xrange(2): pass", ("xrange", 1)),
        ("import os, urllib2", ("import urllib2", 1)),
        ("x = {}\nx.iteritems()", (".iteritems()", 2)),
        ("def f(x):\n    return isinstance(x, unicode)", ("unicode", 2)),
        ("import sys\nprint >>sys.stderr, 'x'", ("print", 2)),
        ("if 1:\n    print", ("print", 2)),
        ("class A:\n    def iteritems(self): return {}.iteritems()", (".iteritems()", 2)),
        ("class A:\n    def has_key(self, k): return {}.has_key(k)", (".has_key()", 2)),
        ("from itertools import izip", ("from itertools import izip", 1)),
    ],
)
def test_names_that_python_3_lacks_show_python_2(source: str, sign: tuple[str, int]) -> None:
    ported = port.port(source.encode(), "old.py")

    assert ported is not None
    assert (ported.sign, ported.line) == sign


@pytest.mark.parametrize(
    "source",
    [
        "if happy:\n    text = unicode('a')\n",
        "def f(s):\n    if is_pypi3_mirror:\n        return s\n    return unicode(s)\n",
        "def f(s):\n    if is_py3:\n        pass\n    return unicode(s)\n",
        "def f(s): return isinstance(s, str) or isinstance(s, unicode)\n",
        "def f(s): return unicode(s) and is_py2\n",
    ],
)
def test_names_of_python_2_without_a_check_are_evidence(source: str) -> None:
    assert port.port(source.encode(), "old.py") is not None


def test_print_may_be_a_function_where_only_a_name_is_old() -> None:
    ported = port.port(b"print('a', xrange(2))\n", "old.py")

    assert ported is not None
    assert ported.text == "print('a', range(2))\n"


def test_modules_beside_a_module_of_a_package(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    (tmp_path / "beside.py").touch()
    source = b"import beside\nprint beside\n"

    inside = port.port(source, str(tmp_path / "m.py"), in_package=True)
    outside = port.port(source, str(tmp_path / "m.py"))

    assert inside is not None
    assert inside.text.startswith("from . import beside\n")
    assert outside is not None
    assert outside.text.startswith("import beside\n")


@pytest.mark.parametrize("statement", ["import deep.leaf", "import deep.leaf as leaf"])
def test_dotted_names_beside_a_module_stay(statement: str, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("__init__.py", "deep/__init__.py", "deep/leaf.py"):
        (tmp_path / name).touch()
    source = f"import deep\n{statement}\nfrom deep.leaf import a\nprint deep\n".encode()

    inside = port.port(source, str(tmp_path / "m.py"), in_package=True)

    assert inside is not None
    first, second, third, _ = inside.text.splitlines()
    assert first == "from . import deep"
    assert second == statement
    assert third == "from .deep.leaf import a"


def test_modules_of_a_program_of_python_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "main.py").write_text("import utils\nprint utils.row\n")
    main = types.ModuleType("__main__")
    main.__file__ = str(tmp_path / "main.py")
    monkeypatch.setitem(sys.modules, "__main__", main)

    tree = port.parse_ported(b"row = 7 / len('ab')\n", str(tmp_path / "utils.py"))
    assert tree is not None
    values: dict[str, Any] = {}
    exec(compile(tree, "utils.py", "exec"), values)
    assert values["row"] == 3
    assert "utils.py is Python 2 (line 1: it belongs to a program of" in capsys.readouterr().err
    for source in (
        b"text = f'{7 / 2}'\n",
        b"def half(n: int): return n / 2\n",
        b"x = 1\n",
    ):
        assert port.parse_ported(source, str(tmp_path / "utils.py")) is None
    true = port.parse_ported(b"from __future__ import division\nrow = 7 / 2\n", "utils.py")
    assert true is not None
    exec(compile(true, "utils.py", "exec"), values)
    assert values["row"] == 3.5
    (tmp_path / "new.py").write_text("import utils\n")
    main.__file__ = str(tmp_path / "new.py")
    assert port.parse_ported(b"row = 7 / len('ab')\n", str(tmp_path / "utils.py")) is None


def test_neither_python() -> None:
    with pytest.raises(SyntaxError) as raised:
        port.port(b"print 'x'\ny = = 2\n", "old.py")

    assert (raised.value.lineno, getattr(raised.value, "python2_line", None)) == (1, 2)


def test_bytes_that_are_no_text_behind_a_byte_order_mark() -> None:
    with pytest.raises(SyntaxError, match="unicode error.*byte 0xff"):
        port.port(b"\xef\xbb\xbfprint 1\n\xff", "p.py")


def test_what_stays_unreadable_is_said() -> None:
    with pytest.raises(
        MoxValueError, match=r"Python 2 \('print x' in line 1\), and its port is not"
    ):
        port.port(b"print x\nasync = 1\n", "old.py")


def test_tabs_reach_to_the_next_eighth_but_not_in_strings() -> None:
    values = _run("if 1:\n        a = 1\n\tb = '''x\n\ty'''\n")

    assert (values["a"], values["b"]) == (1, "x\n\ty")


def test_errors_are_told_though_the_parser_is_imported_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert port.port(b"print 'x'\n", "old.py", False) is not None
    for name in [name for name in sys.modules if name.partition(".")[0] == "fissix"]:
        monkeypatch.delitem(sys.modules, name)

    with pytest.raises(SyntaxError):
        port.port(b"print 'x'\nx = = 1\n", "old.py", False)
