"""Pickles of plain data are read as `pickle` reads them; others are refused, and run nothing."""

from __future__ import annotations

import collections
import io
import operator
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moxing.errors import MoxValueError
from moxing.framework import plain_pickles


def load(data: bytes, encoding: str = "ASCII") -> Any:
    return plain_pickles.load(io.BytesIO(data), encoding)


PLAIN: dict[str, Any] = {
    "weights": {"conv1_1": [np.arange(6, dtype="f4").reshape(1, 2, 3), np.zeros(3, "f2")]},
    "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "big endian": np.arange(3, dtype=">i4"),
    "text": np.array(["a", "bc"]),
    "objects": np.array([{"a": 1}, None, [1, 2]], object),
    "scalars": [np.float32(1.5), np.int64(-3), np.bool_(True), np.datetime64("2016-01-02")],
    "dtype": np.dtype("f4"),
    "numbers": (1, 2**70, 1.5, 2j, True, None, slice(1, 2)),
    "bytes": [b"\x00\xff", bytearray(b"a"), "ü"],
    "sets": [{1, 2}, frozenset("a")],
    "ordered": collections.OrderedDict(b=1, a=2),
    "defaults": collections.defaultdict(list, {"a": [1]}),
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", PLAIN)
def test_plain_data_is_read_as_pickle_reads_it(name: str, protocol: int) -> None:
    data = pickle.dumps(PLAIN[name], protocol)
    encoding = "latin1" if protocol < 3 else "ASCII"
    np.testing.assert_equal(load(data, encoding), pickle.loads(data, encoding=encoding))


def test_names_of_old_numpy_and_of_python_2() -> None:
    data = pickle.dumps([np.arange(3), {1}], 2).replace(b"numpy._core", b"numpy.core")
    assert b"__builtin__" in data
    found = load(data, "latin1")
    assert (found[0].tolist(), found[1]) == ([0, 1, 2], {1})


class Calls:
    """Pickles as a call of any function."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


RECORD = np.dtype([("a", "f4"), ("b", "i8")])
MARK = Path("mark")
REFUSED: dict[str, tuple[Any, str]] = {
    "a command": (Calls(os.system, (f"touch {MARK}",)), r"names posix\.system\."),
    "eval": (Calls(eval, (f"open('{MARK}', 'w')",)), r"names (builtins|__builtin__)\.eval\."),
    "getattr": (Calls(getattr, (dict, "update")), r"names (builtins|__builtin__)\.getattr\."),
    "a class of a program": (Calls(Calls, ()), r"names .*test_plain_pickles\.Calls\."),
    "an attribute of a class": (operator.attrgetter("a"), r"names operator\.attrgetter\."),
    "a state": (Calls(dict, (), {"a": 1}), r"state of a dict\."),
    "places of fields": (RECORD, r"state of a .*DType"),
    "another kind of array": (np.ma.masked_array([1]), r"names numpy\.ma\."),
    "an encoding": (Calls(__import__("_codecs").encode, ("a", "rot13")), r"encoding 'rot13'"),
}


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("name", REFUSED)
def test_other_pickles_are_refused(
    name: str, protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    value, message = REFUSED[name]
    with pytest.raises(MoxValueError, match=message):
        load(pickle.dumps(value, protocol), "latin1")
    assert not MARK.exists()


BY_HAND = {
    b"cnumpy\nndarray\n((I1\nttR.": TypeError,
    b"cnumpy._core.multiarray\n_reconstruct\n(cbuiltins\nlist\n(I0\ntVb\ntR.": MoxValueError,
    b"cnumpy._core.multiarray\nscalar\n(cnumpy\ndtype\n(VO8\nI0\nI1\ntRNtR.": MoxValueError,
    b"Pplace\n.": MoxValueError,
    b"cbuiltins\nint.from_bytes\n.": MoxValueError,
}


@pytest.mark.parametrize("data", BY_HAND)
def test_pickles_by_hand_are_refused(data: bytes) -> None:
    with pytest.raises(BY_HAND[data]):
        load(data)
