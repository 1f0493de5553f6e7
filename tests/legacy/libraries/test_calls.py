"""What fails with the libraries of today does what it did, in the user's files."""

from __future__ import annotations

import array
import ast
import sys
import tracemalloc
import types
from typing import Any

import numpy as np
import pytest

from moxing.legacy.libraries import calls, old_calls


def test_methods_that_types_no_longer_have(program: Any) -> None:
    values = program(
        """
        import array, numpy as np
        import xml.etree.cElementTree as ET
        a = np.arange(6, dtype=np.int32).reshape(2, 3)
        raw, spread = a.tostring(), a.ptp(axis=1)
        a.itemset((1, 2), 50); a.itemset(0, 9); a.itemset(1, 1, 7)
        swapped = np.array([1], np.int16).newbyteorder()
        scalar = np.float32(1).tostring()
        letters = array.array('b', [1, 2]).tostring()
        more = array.array('b'); more.fromstring(b'ab')
        root = ET.fromstring('<a><b/><b/><c/></a>')
        children, found = [c.tag for c in root.getchildren()], len(root.getiterator('b'))
        tree = [c.tag for c in ET.ElementTree(root).getiterator()]
        text = ET.tostring(root)
        """
    )

    assert values["raw"] == np.arange(6, dtype=np.int32).tobytes()
    assert values["spread"].tolist() == [2, 2]
    assert values["a"].tolist() == [[9, 1, 2], [3, 7, 50]]
    assert values["swapped"][0] == 256
    assert values["scalar"] == np.float32(1).tobytes()
    assert values["letters"] == b"\x01\x02"
    assert values["more"] == array.array("b", b"ab")
    assert (values["children"], values["found"]) == (["b", "b", "c"], 2)
    assert values["tree"] == ["a", "b", "b", "c"]
    assert values["text"] == b"<a><b /><b /><c /></a>"


def test_the_dict_of_a_face_has_all_names_and_stays_as_it_is(program: Any) -> None:
    values = program(
        """
        import numpy as np, string
        kinds = [k for k, v in np.__dict__.items() if v is np.float32 or v is np.rank]
        class A:
            def __init__(self):
                self.__dict__['a'] = 1
        own = A().__dict__, vars(A())
        try:
            (1).__dict__
        except AttributeError:
            missing = True
        letters = vars(string)['uppercase'] + string.__dict__['digits']
        """
    )

    assert {"float32", "rank"} <= set(values["kinds"])
    assert values["own"] == ({"a": 1}, {"a": 1})
    assert values["missing"] is True
    assert values["letters"] == "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def test_text_that_is_text_already_is_decoded_as_it_is(program: Any) -> None:
    values = program(
        """
        words = 'caf\u00e9 au lait'.decode('utf-8').split()
        same, raw = 'a'.decode(), b'\\xe9'.decode('latin-1')
        try:
            3 .decode
        except AttributeError as caught:
            error = str(caught)
        """
    )

    assert (values["words"], values["same"]) == (["caf\u00e9", "au", "lait"], "a")
    assert values["raw"] == "\u00e9"
    assert "'int' object has no attribute 'decode'" in values["error"]


def test_tensors_and_variables_are_of_the_classes_of_their_time(program: Any) -> None:
    values = program(
        """
        import numpy as np
        import tensorflow.compat.v1 as tf
        with tf.Graph().as_default():
            x, v = tf.placeholder(tf.float32, []), tf.Variable(1.0)
            r = tf.Variable(1.0, use_resource=True)
        same = [type(x) is tf.Tensor, type(v) == tf.Variable, type(r) in (int, tf.Variable)]
        other = [type(x) is not tf.Tensor, type(np.zeros(2)) is tf.Tensor, type(x) is tf.Variable]
        same += [x.__class__ == tf.Tensor, v.__class__ in [tf.Variable], tf.Tensor == type(x)]
        same += [type(x).__name__ == 'Tensor', x.__class__.__name__ in ('Tensor', 'Variable')]
        class Tensor:
            def other(self):
                return self.__class__ is Tensor and self.__class__ != tf.Tensor
        same.append(Tensor().other())
        other += [np.zeros(2).__class__ is tf.Tensor, x.__class__ == tf.Variable]
        """
    )

    assert values["same"] == [True] * 9
    assert values["other"] == [False] * 5


def test_others_do_not_see_them(program: Any) -> None:
    program("import numpy as np\nnp.arange(2).tostring()")

    assert not hasattr(np.arange(2), "tostring")


def test_numbers_of_arrays_with_one_element(program: Any) -> None:
    values = program(
        """
        import numpy as np
        one = np.array([[2.5]])
        numbers = [float(one), int(one), float('3'), int(2.9), float(np.float32(1))]
        texts = ['%.1f' % one, '%d of %s' % (one, one), '%s %d%%' % ('a', 3)]
        a = np.zeros(3)
        a[0] = one
        a[1] += np.array([4.0])
        a[1:] += 1
        small = np.zeros(2, np.uint8)
        small[0], small[1] = 1, 2
        small[0] = -1 + 0
        wrapped = [np.uint8(-1), np.int8(200), np.uint8(3.7)]
        """
    )

    assert values["numbers"] == [2.5, 2, 3.0, 2, 1.0]
    assert values["texts"] == ["2.5", "2 of [[2.5]]", "a 3%"]
    assert values["a"].tolist() == [2.5, 5.0, 1.0]
    assert values["small"].tolist() == [255, 2]
    assert values["wrapped"] == [255, -56, 3]
    assert [type(value) for value in values["wrapped"]] == [np.uint8, np.int8, np.uint8]


@pytest.mark.parametrize("shadow", ["", "from shadows import *"])
def test_elements_are_set_where_a_program_has_names_of_pythons_own(
    program: Any, shadow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = types.ModuleType("shadows")
    vars(stranger).update(slice=None, ValueError=None, TypeError=None, OverflowError=None)
    monkeypatch.setitem(sys.modules, "shadows", stranger)
    names = "" if shadow else "slice = ValueError = TypeError = OverflowError = None"
    values = program(
        f"""
        import numpy as np
        {shadow}
        {names}
        a = np.zeros((4, 4))
        a[1:3, ::2] = np.ones((2, 2))
        a[3:] += np.full(4, 2.0)
        a[0, 1] = np.array([5.0])
        def cut(a):
            slice = a[:, 1:3]
            a[:, :2] = slice
            return slice
        part = cut(a.copy())
        """
    )

    wanted = np.array([[0, 5, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0], [2, 2, 2, 2]], float)
    assert values["a"].tolist() == wanted.tolist()
    wanted[:, :2] = wanted[:, 1:3]
    assert values["part"].tolist() == wanted[:, 1:3].tolist()


def test_classes_of_types_are_types_of_arrays(program: Any) -> None:
    values = program(
        """
        import numpy as np
        class own:
            integer = 'kept'
            @staticmethod
            def full(value, kind=None): return value, kind
        made = [
            np.empty(2, dtype=np.integer), np.zeros(2, np.signedinteger),
            np.ones((1, 2), dtype=np.unsignedinteger), np.array([1.5]).astype(np.integer),
            np.asarray([1], dtype=np.floating), np.arange(3, dtype=np.number),
            np.array([1], np.complexfloating), np.full(2, 7, dtype=np.inexact),
        ]
        kinds = [a.dtype.name for a in made] + [np.dtype(np.integer).name]
        asked = np.issubdtype(np.int8, np.integer), isinstance(np.int8(1), np.integer)
        others = own.full(own.integer, kind=own.integer)
        """
    )
    whole, real = "int64", "float64"
    assert values["kinds"] == [
        *(whole, whole, "uint64", whole),
        *(real, real, "complex128", real, whole),
    ]
    assert values["made"][3].tolist() == [1]
    assert values["asked"] == (True, True)
    assert values["others"] == ("kept", "kept")


def test_integers_out_of_the_range_of_an_array(program: Any) -> None:
    values = program(
        """
        import numpy as np
        a, b = np.array([1, 200], np.uint8), np.array([3], np.int8)
        wide = [a + (-1), a + 300, a - 256, 256 - a, a * -1, a & 0x1ff, a // -1, b + 200, a + 127]
        half = a / 256
        large = np.array([3], np.int32) + 2**40
        most = np.maximum(a, -1)
        single = [a[1] << 8, a[1] * 256, a[1] - 300]
        text = 'a' * 130 + 'b'
        c = d = a.copy(); c += 300
        e = a[1]; e <<= 8; e += 1000
        apart = [a == [1, 2, 3], a != [], (a == [1, 2]).tolist(), [1] == [1]]
        """
    )

    assert [(item.dtype.name, item.tolist()) for item in values["wide"]] == [
        ("int16", [0, 199]),
        ("uint16", [301, 500]),
        ("uint16", [65281, 65480]),
        ("uint16", [255, 56]),
        ("int16", [-1, -200]),
        ("uint16", [1, 200]),
        ("int16", [-1, -200]),
        ("int16", [203]),
        ("uint8", [128, 71]),
    ]
    assert values["half"].tolist() == [1 / 256, 200 / 256]
    assert values["large"].tolist() == [3 + 2**40]
    assert values["most"].tolist() == [1, 200]
    assert values["single"] == [51200, 51200, -100]
    assert values["text"] == "a" * 130 + "b"
    assert values["d"].tolist() == [45, 244]
    assert values["e"] == 52200
    assert values["apart"] == [False, True, [True, False], True]


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("float(np.zeros(2))", TypeError),
        ("'%f' % np.zeros(2)", TypeError),
        ("'%f' % 'x'", TypeError),
        ("x = np.zeros(2)\nx[0] = [1., 2.]", ValueError),
        ("x = np.zeros(2)\nx[0] = 'a'", ValueError),
        ("x = (1,)\nx[0] = n", TypeError),
        ("[].tostring()", AttributeError),
        ("np.uint8('x')", ValueError),
        ("'a' - 300", TypeError),
        ("np.zeros(2, np.uint8) + 10**30", OverflowError),
    ],
)
def test_what_failed_still_fails(program: Any, source: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        program(f"import numpy as np\nn = 1\n{source}")


def test_assignments_keep_order_and_places(program: Any) -> None:
    values = program(
        """
        import numpy as np
        seen = []
        def note(what, value):
            seen.append(what)
            return value
        d = {}
        note('owner', d)[note('place', 'k')] = note('value', [1])
        d['k'] += note('more', [2])
        m = np.zeros((2, 3, 4))
        m[note('a', 0), 1:, ::2] = note('b', 5)
        m[..., None, -1:][:] += note('c', 1)
        class Holder:
            table = {}
            table['x'] = len('ab')
        """
    )

    assert values["seen"] == ["value", "owner", "place", "more", "b", "a", "c"]
    assert values["d"] == {"k": [1, 2]}
    expected = np.zeros((2, 3, 4))
    expected[0, 1:, ::2] = 5
    expected[..., -1:] += 1
    assert (values["m"] == expected).all()
    assert values["Holder"].table == {"x": 2}


def test_nothing_is_kept_alive(program: Any) -> None:
    tracemalloc.start()
    program("import numpy as np\nx = {}\nx[0] = np.zeros(10**7)\ndel x[0]\n")
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert size < 10**7


def test_errors_name_their_lines(program: Any) -> None:
    with pytest.raises(ValueError, match="setting an array element") as raised:
        program("import numpy as np\nx = np.zeros(2)\nn = [1, 2]\nx[\n  0] = n\n")

    trace = raised.value.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    assert (trace.tb_frame.f_code.co_filename, trace.tb_lineno) == ("program.py", 4)


def test_the_reader_of_digits_that_programs_carry(program: Any) -> None:
    values = program(
        """
        import io, numpy
        def _read32(bytestream):
            dt = numpy.dtype(numpy.uint32).newbyteorder('>')
            return numpy.frombuffer(bytestream.read(4), dtype=dt)
        stream = io.BytesIO(b'\\0\\0\\0\\3abcdef')
        count = _read32(stream)
        data = numpy.frombuffer(stream.read(count), dtype=numpy.uint8).reshape(count, 1)
        """
    )

    assert values["data"].tolist() == [[97], [98], [99]]


def test_universal_newlines(program: Any, tmp_path: Any) -> None:
    (tmp_path / "x").write_bytes(b"a\r\nb\r")

    assert program(f"t = open({str(tmp_path / 'x')!r}, 'rU').read()")["t"] == "a\nb\n"


def test_names_of_the_programs_own_are_left_alone(program: Any) -> None:
    values = program("import numpy\nfloat = lambda x: 'mine'\ny = float(numpy.zeros(2))")

    assert values["y"] == "mine"


def test_files_that_need_nothing_are_compiled_as_ever() -> None:
    assert not calls.may_change(b"import os\nprint(float(1))\n")
    assert not calls.change(ast.parse("import numpy as np\nx = np.zeros(2)\n"))
    assert calls.ATTRIBUTES == old_calls.NAMES
