"""Python's own library as programs of 2018 know it."""

from __future__ import annotations

import collections.abc
import errno
import os
import random
import threading
import time
from typing import Any

import pytest

from moxing.legacy.face.faces import Faces
from moxing.legacy.libraries import standard


def test_names(program: Any) -> None:
    values = program(
        """
        import base64, cgi, collections, fractions, inspect, json, random, string, time
        from collections import Iterable, Mapping, OrderedDict
        from time import clock
        def f(a, b=2, *c, **d): pass
        spec = inspect.getargspec(f)
        kinds = [isinstance([], Iterable), isinstance({}, collections.Mapping)]
        count = collections.Counter('aab')
        used = clock(), time.clock()
        gcds = [fractions.gcd(12, 18), fractions.gcd(12, -18), fractions.gcd(-4, 0)]
        half = fractions.Fraction(1, 2)
        code = base64.encodestring(b'ab'), base64.decodestring(b'YWI=')
        text = [string.maketrans('ab', 'xy'), string.letters[:2], string.join(['a', 'b'], '-'),
                string.split('a b'), string.upper('x'), string.replace('aa', 'a', 'b'),
                string.atoi('7')]
        read = json.loads('{"a": 1}', encoding='utf-8')
        drawn = random.sample({1, 2, 3}, 2)
        safe = cgi.escape('<a href="b">')
        """
    )

    assert values["spec"] == (["a", "b"], "c", "d", (2,))
    assert (values["spec"].args, values["spec"].keywords) == (["a", "b"], "d")
    assert values["kinds"] == [True, True]
    assert values["count"]["a"] == 2
    assert all(abs(value - time.process_time()) < 60 for value in values["used"])
    assert values["gcds"] == [6, -6, -4]
    assert values["code"] == (b"YWI=\n", b"ab")
    assert values["text"] == [{97: 120, 98: 121}, "ab", "a-b", ["a", "b"], "X", "bb", 7]
    assert values["read"] == {"a": 1}
    assert set(values["drawn"]) <= {1, 2, 3}
    assert values["safe"] == '&lt;a href="b"&gt;'
    assert not hasattr(collections, "Iterable")
    with pytest.raises(ValueError, match="keyword-only"):
        standard.getargspec(lambda *, a: a)


def test_functions_of_tensorflow_have_the_arguments_of_old(program: Any) -> None:
    values = program(
        """
        import inspect
        import numpy as np
        import tensorflow as tf
        relu = inspect.getargspec(tf.nn.relu)
        softmax = inspect.getargspec(tf.nn.softmax_cross_entropy_with_logits)
        layer = inspect.getargspec(tf.keras.layers.Dense.__init__)
        ends = inspect.getargspec(np.linspace)
        def own(a: int): pass
        """
    )

    assert values["relu"] == (["features", "name"], None, None, (None,))
    assert "logits" in values["softmax"].args
    assert values["layer"].args[:3] == ["self", "units", "activation"]
    assert values["ends"].args[:3] == ["start", "stop", "num"]
    with pytest.raises(ValueError, match="annotations"):
        standard.getargspec(values["own"])


def test_methods(program: Any) -> None:
    values = program(
        """
        import threading, unittest
        thread = threading.Thread(target=int)
        alive = thread.isAlive()
        class Test(unittest.TestCase):
            def test_it(self):
                self.assertEquals(1, 1)
                self.assertItemsEqual([1, 2], [2, 1])
                self.assertRaisesRegexp(ValueError, 'bad', self.fail_, 'bad')
            def fail_(self, text):
                raise ValueError(text)
        result = unittest.TestResult()
        unittest.makeSuite(Test).run(result)
        """
    )

    assert values["alive"] is False
    assert (values["result"].testsRun, values["result"].errors) == (1, [])
    assert not hasattr(threading.Thread, "isAlive")


def test_patterns_signatures_and_digests(program: Any) -> None:
    values = program(
        r"""
        import asyncio, hmac, inspect, os, re
        from os import errno as of_os, sep
        found = [re.findall('a(?i)b', 'AB ab'), re.sub(b'b(?i)|(?s).c', b'-', b'B\nc'),
                 re.compile('(x(?i))').match('X').group(), re.split('b(?i)', 'aBc'),
                 re.search('[(?i)]', 'i').group()]
        try:
            re.compile('(a')
        except re.error as error:
            wrong = str(error)
        shown = inspect.formatargspec(['a', 'b'], 'c', 'd', (2,)), inspect.formatargspec(
            ['a'], kwonlyargs=['k'], kwonlydefaults={'k': 1}, annotations={'a': int, 'return': str})
        digest = [hmac.new(b'key', b'text', *of).hexdigest() for of in ((), ('md5',))]
        @asyncio.coroutine
        def adds(a):
            yield from asyncio.sleep(0)
            return a + 1
        @asyncio.coroutine
        def plain(a):
            return adds(a)
        async def both():
            return await adds(1), await plain(2)
        results = asyncio.run(both())
        numbers = os.errno.EEXIST, of_os.ENOENT, sep
        """
    )

    assert values["found"] == [["AB", "ab"], b"--", "X", ["a", "c"], "i"]
    assert "missing )" in values["wrong"]
    assert values["shown"] == ("(a, b=2, *c, **d)", "(a: int, *, k=1) -> str")
    assert values["digest"][0] == values["digest"][1]
    assert values["results"] == (2, 3)
    assert values["numbers"] == (errno.EEXIST, errno.ENOENT, os.sep)


def test_assignments_reach_the_module(program: Any) -> None:
    program("import time\ntime.mox_mark = 1\nimport collections\ncollections.mox_mark = 2\n")

    assert (time.mox_mark, collections.mox_mark) == (1, 2)
    program("import time, collections\ndel time.mox_mark\ndel collections.mox_mark\n")
    assert not hasattr(time, "mox_mark")
    assert not hasattr(collections, "mox_mark")


def test_changes_of_the_module_are_seen(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    values = program("import time\ndef now(): return time.time()\nnow()")
    monkeypatch.setattr(time, "time", lambda: 5.0)

    assert values["now"]() == 5.0


def test_random_numbers_are_the_modules(program: Any) -> None:
    values = program("import random\nrandom.seed(3)\nx = random.random()")
    random.seed(3)

    assert values["x"] == random.random()


def test_distutils() -> None:
    faces = Faces({"distutils": standard._distutils()})
    version = faces.load("distutils.version")

    assert version.LooseVersion("1.10.0") > version.LooseVersion("1.9")
    assert version.LooseVersion("1.15.2-gpu") >= "1.15"
    assert version.StrictVersion("1.0a1") < version.StrictVersion("1.0")
    assert version.StrictVersion("1.2") == version.StrictVersion("1.2.0")
    with pytest.raises(ValueError, match="invalid version number"):
        version.StrictVersion("1")
    assert faces.load("distutils.util").strtobool("Yes") == 1
    assert faces.load("distutils.util").strtobool("off") == 0
    with pytest.raises(AttributeError, match="pip install setuptools"):
        _ = faces.load("distutils.util").get_platform


def test_folders_of_distutils(tmp_path: Any) -> None:
    from moxing.legacy.libraries import distutils

    assert distutils.mkpath(str(tmp_path / "a" / "b")) == [
        str(tmp_path / "a"),
        str(tmp_path / "a" / "b"),
    ]
    (tmp_path / "a" / "b" / "f").write_text("x")
    assert distutils.copy_tree(str(tmp_path / "a"), str(tmp_path / "c")) == [
        str(tmp_path / "c" / "b" / "f")
    ]
    distutils.remove_tree(str(tmp_path / "c"))
    assert not (tmp_path / "c").exists()
    assert distutils.find_executable("python3") is not None


def test_every_name_can_be_read() -> None:
    faces = Faces(standard.specs())
    for module, spec in standard.specs().items():
        for name in spec.names:
            assert getattr(faces.load(module), name) is not None, f"{module}.{name}"


def test_empty_matches_do_not_part_a_text(program: Any) -> None:
    """As before Python 3.7; a pattern without any other match parts as it does since then."""
    values = program(
        r"""
        import re
        from re import split
        words = [w for w in re.split(r'(\W+)?', 'Where is Mary?') if w.strip()]
        bare = split(r'\s*', 'a  b c')
        most = re.split(r'(-)*', 'a-b-c-d', 2)
        plain = re.split(r'[,;]', 'a,b;c', maxsplit=1), re.split('b', 'aBc', flags=re.I)
        ahead = re.split(r'(?=[A-Z])', 'aBcD')
        raw = re.split(rb'\s*', b'a b')
        own = re.sub('a', 'b', 'aa'), re.compile('x').pattern
        """
    )
    assert values["words"] == ["Where", "is", "Mary", "?"]
    assert values["bare"] == ["a", "b", "c"]
    assert values["most"] == ["a", "-", "b", "-", "c-d"]
    assert values["plain"] == (["a", "b;c"], ["a", "c"])
    assert values["ahead"] == ["a", "Bc", "D"]
    assert values["raw"] == [b"a", b"b"]
    assert values["own"] == ("bb", "x")
