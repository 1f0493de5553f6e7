"""Types of results of arithmetic are those of NumPy 1, in the user's files."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from moxing.legacy.libraries import calls

# The results of NumPy 1.16, by which docs.scipy.org/doc/numpy-1.16.1/reference/generated/
# numpy.result_type.html gives the rule: with an array, the value of a single number decides.
CASES = {
    "f4 * np.sqrt(2.0)": "float32",
    "np.sqrt(2.0) * f4": "float32",
    "f4 / np.prod([3, 2])": "float32",
    "f4 - f4.astype('f8').mean()": "float32",
    "f4 ** np.float64(2)": "float32",
    "f4 + np.float64(1e300)": "float64",
    "f4 * np.array(0.5)": "float32",
    "f4 + np.zeros(2)": "float64",
    "f2 * np.float64(0.5)": "float16",
    "f2 * np.float64(1e6)": "float32",
    "u1 + np.int64(1)": "uint8",
    "u1 * np.int64(300)": "uint16",
    "u1 - np.int64(-1)": "int16",
    "i4 // np.int64(2)": "int32",
    "i4 % np.int64(2)": "int32",
    "i4 / np.int64(2)": "float64",
    "i4 * np.float64(0.5)": "float64",
    "u1 + big": "uint16",
    "u1 + minus": "int16",
    "u1[0] + hundred": "int64",
    "u1[0] + 100": "int64",
    "np.float64(2) * np.float32(3)": "float64",
    "np.float32(2) * np.float32(3)": "float32",
    "np.float32(2) * hundred": "float64",
    "0.5 * np.float32(2)": "float64",
    "np.int64(2) * np.float32(3)": "float64",
    "0.5 * f4": "float32",
}


@pytest.mark.parametrize("expression", CASES)
def test_types(program: Any, expression: str) -> None:
    values = program(
        f"""
        import numpy as np
        f4, f2 = np.ones(2, np.float32), np.ones(2, np.float16)
        u1, i4 = np.array([200, 1], np.uint8), np.array([5, 6], np.int32)
        big, minus, hundred = 300, -1, 100
        found = {expression}
        """
    )
    assert values["found"].dtype == CASES[expression]


def test_values(program: Any) -> None:
    values = program(
        """
        import numpy as np
        pixel = np.array([200], np.uint8)
        sums = [int(pixel[0] + n) for n in (100, 1)], (pixel + 300).tolist()
        weights = np.sqrt(6.0 / 4) * np.ones((2, 2)).astype(np.float32)
        text, joined = 'a%s' % weights.shape[0], [1] * 2
        """
    )
    assert values["sums"] == ([300, 201], [500])
    assert values["weights"].tolist() == [[float(np.float32(np.sqrt(1.5)))] * 2] * 2
    assert (values["text"], values["joined"]) == ("a2", [1, 1])


def test_sums_in_place(program: Any) -> None:
    """A sum of losses that a session gives is one of 64 bits, which `json` takes for a float."""
    values = program(
        """
        import json, numpy as np
        class Session:
            def run(self, what):
                return np.float32(0.1)
        total, count, sess = 0., 0, Session()
        for _ in range(3):
            loss = sess.run('loss')
            total += loss * 2
            count += 1
        text = json.dumps(total / count)
        weights = same = np.ones(2, np.float32)
        weights *= np.float64(2)
        names = more = ['a']
        names += [loss]
        """
    )
    assert values["total"] == pytest.approx(3 * 2 * float(np.float32(0.1)), rel=1e-12)
    assert float(values["text"]) == values["total"] / 3
    assert values["same"] is values["weights"]
    assert (values["same"].tolist(), values["same"].dtype) == ([2.0, 2.0], np.float32)
    assert values["names"] is values["more"]


@pytest.mark.parametrize(
    ("source", "is_changed"),
    [
        ("import numpy as np\na = np.ones(2)\nb = a * a\n", True),
        ("import numpy as np\ndef f(self):\n self.x = np.ones(2)\n return self.x * self.y\n", True),
        ("import numpy as np\na = np.ones(2)\nfor v in a:\n  b = v\n  c = b * d\n", True),
        ("import numpy as np\na = np.ones(2)\nfor i in range(len(a)):\n  c = i * d\n", False),
        ("import numpy as np\na = np.ones(2)\nc = d * e + f - 1\n", False),
        ("import numpy as np\na = 'x' + np.ones(2)\n", False),
        ("import tensorflow as tf\na = sess.run(b)\nc += a\n", True),
        ("import tensorflow as tf\na = tf.ones(2)\nb = a * a\n", False),
    ],
)
def test_only_arithmetic_of_arrays_is_changed(source: str, is_changed: bool) -> None:
    assert calls.change(ast.parse(source)) == is_changed
