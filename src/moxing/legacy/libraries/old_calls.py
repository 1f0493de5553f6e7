"""The functions that `calls.py` inserts: today's operation, and the old behavior if it fails."""

from __future__ import annotations

import array
import builtins as builtins
import errno
import functools
import operator
import sys
import xml.etree.ElementTree
from collections.abc import Callable
from typing import Any

import numpy as np

from moxing.legacy.face.faces import Face
from moxing.legacy.libraries import users_only
from moxing.legacy.python2 import meaning

_ARRAYS = (np.ndarray, np.generic)
_ELEMENT = xml.etree.ElementTree.Element
_TREE = xml.etree.ElementTree.ElementTree


def _itemset(owner: np.ndarray, *arguments: Any) -> None:
    *place, value = arguments
    if not place:
        if owner.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        owner[(0,) * owner.ndim] = value
    elif len(place) == 1 and not isinstance(place[0], tuple):
        owner.flat[place[0]] = value
    else:
        owner[place[0] if len(place) == 1 else tuple(place)] = value


def _newbyteorder(owner: Any, new_order: str = "S") -> Any:
    return owner.view(owner.dtype.newbyteorder(new_order))


def _tostring(owner: Any, order: str = "C") -> bytes:
    return owner.tobytes(order)


# Attributes for types written in C, which can't get new attributes: (type, name) -> function.
_ATTRIBUTES: tuple[tuple[tuple[type, ...], str, Callable[..., Any]], ...] = (
    (_ARRAYS, "tostring", _tostring),
    (_ARRAYS, "itemset", _itemset),
    (_ARRAYS, "ptp", np.ptp),
    (_ARRAYS, "newbyteorder", _newbyteorder),
    ((array.array,), "tostring", array.array.tobytes),
    ((array.array,), "fromstring", array.array.frombytes),
    ((_ELEMENT,), "getchildren", list),
    ((_ELEMENT, _TREE), "getiterator", lambda element, tag=None: list(element.iter(tag))),
    # Text that Python 3 has decoded already, in files that Python 2 reads as bytes.
    ((str,), "decode", meaning.decode),
)
# Classes of TensorFlow 2.x -> their classes in 1.x.
_WHOLE = {
    "SymbolicTensor": "Tensor",
    "RefVariable": "Variable",
    "ResourceVariable": "Variable",
}
NAMES = frozenset(name for _, name, _ in _ATTRIBUTES)


def attribute(owner: Any, name: str) -> Any:
    """Returns `owner.name`, even if the type no longer has the method.

    Raises:
        AttributeError: the type never had the method.
    """
    try:
        return getattr(owner, name)
    except AttributeError:
        for kinds, old, function in _ATTRIBUTES:
            if old == name and isinstance(owner, kinds):
                return functools.partial(function, owner)
        for kind in type(owner).__mro__:
            found = kind.__dict__.get(name)
            if isinstance(found, users_only.OldAttribute):
                return found.bound(owner)
        raise


def errno_of(module: Any) -> Any:
    """Returns `os.errno`, the module that `os` showed until Python 3.7."""
    return getattr(module, "errno", errno)


def dict_of(owner: Any) -> Any:
    """Returns `owner.__dict__`; of a face, with all of its names, so that reading one adds none.

    Programs look classes up by `tf.nn.__dict__[name]`, or go through all of them.
    """
    return owner.all_names() if isinstance(owner, Face) else owner.__dict__


def names_of(owner: Any) -> Any:
    """Returns `vars(owner)`; of a face, with all of its names."""
    return owner.all_names() if isinstance(owner, Face) else vars(owner)


def type_of(value: Any) -> type:
    """Returns `type(value)`; of tensors and variables of graphs, `tf.Tensor` and `tf.Variable`.

    TensorFlow 1.x had no other classes; programs compare with these.
    """
    return _whole(type(value))


def class_of(value: Any) -> type:
    """Returns `value.__class__`, as `type_of` does `type(value)`."""
    return _whole(value.__class__)


def _whole(kind: type) -> type:
    tf = sys.modules.get("tensorflow.compat.v1")
    wanted = _WHOLE.get(kind.__name__)
    return kind if tf is None or wanted is None else getattr(tf, wanted)


def _is_single(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0 and value.size == 1


def to_float(value: Any) -> float:
    """Returns `float(value)`, also of an array with one element."""
    return float(value.item()) if _is_single(value) else float(value)


def to_int(value: Any) -> int:
    """Returns `int(value)`, also of an array with one element."""
    return int(value.item()) if _is_single(value) else int(value)


# The types that NumPy 1 made of classes of types.
_CONCRETE = {
    np.integer: np.int_,
    np.signedinteger: np.int_,
    np.unsignedinteger: np.uint,
    np.number: np.float64,
    np.inexact: np.float64,
    np.floating: np.float64,
    np.complexfloating: np.complex128,
}


def concrete(kind: Any) -> Any:
    """Returns the type of arrays that a class of types such as `np.integer` stands for."""
    return _CONCRETE.get(kind, kind) if isinstance(kind, type) else kind


def formatted(text: str, values: Any) -> str:
    """Returns `text % values`, even if `%d` or `%f` gets an array with one element."""
    try:
        return text % values
    except TypeError:
        parts = values if isinstance(values, tuple) else (values,)
        if not any(_is_single(part) for part in parts):
            raise
        # %s shows an array as an array.
        return text % tuple(_Single(part) if _is_single(part) else part for part in parts)


class _Single:
    """An array with one element, which formats as a number or as an array."""

    def __init__(self, value: np.ndarray) -> None:
        self._value = value

    def __float__(self) -> float:
        return float(self._value.item())

    def __int__(self) -> int:
        return int(self._value.item())

    __index__ = __int__

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return repr(self._value)


def operate(name: str, a: Any, b: Any) -> Any:
    """Returns `operator.name(a, b)` with NumPy 1's type of the result, if one is a Python integer.

    NumPy 1 chose a type that holds the value of the integer, and a single number of NumPy became
    an int64. NumPy 2 keeps the other operand's type, and raises where the integer is too large.
    """
    return widened(getattr(operator, name), a, b)


def widened(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Returns `function(a, b)` of two operands as `operate` does."""
    if type(b) is int and _is_single_integer(a):
        b = _int64(b)
    elif type(a) is int and _is_single_integer(b):
        a = _int64(a)
    try:
        return function(a, b)
    except OverflowError:
        if type(b) is int and isinstance(a, np.ndarray):
            return function(a, np.min_scalar_type(b).type(b))
        if type(a) is int and isinstance(b, np.ndarray):
            return function(np.min_scalar_type(a).type(a), b)
        raise


def _int64(value: int) -> Any:
    return np.int64(value) if -(2**63) <= value < 2**63 else value


# The order of kinds of types; numbers of a lower kind than an array's never change its kind.
_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def _arithmetic(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Returns an operator whose results have the types that NumPy 1 gave them.

    Until NumPy 2, the value of a single number decided with an array, not the number's type: an
    array of float32 stayed one beside `np.sqrt(2.0)`. In NumPy 2 it becomes an array of float64.
    """

    def operate(left: Any, right: Any) -> Any:
        if isinstance(left, np.integer) or isinstance(right, np.integer):
            result = widened(function, left, right)
        else:
            try:
                result = function(left, right)
            except OverflowError:
                result = widened(function, left, right)
        if type(result) in _SHORT:
            return _of_numbers(function, left, right, result)
        return _as_before(function, left, right, result) if type(result) is np.ndarray else result

    return operate


def _in_place(
    update: Callable[[Any, Any], Any], operate: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """Returns `x += y` and its kin, as `_arithmetic` returns `x + y`.

    What is no number, such as an array or a list, is changed in its place.
    """

    def function(left: Any, right: Any) -> Any:
        is_number = isinstance(left, int | float | np.generic)
        return operate(left, right) if is_number else update(left, right)

    return function


_SHORT = frozenset((np.float16, np.float32))
_WIDE = {int: _int64, float: np.float64}


def _of_numbers(
    function: Callable[[Any, Any], Any], left: Any, right: Any, result: np.generic
) -> np.generic:
    """The result for two numbers: a number of Python was one of 64 bits for NumPy 1."""
    if type(left) in _WIDE:
        return function(_WIDE[type(left)](left), right)
    if type(right) in _WIDE:
        return function(left, _WIDE[type(right)](right))
    return result


def _as_before(
    function: Callable[[Any, Any], Any], left: Any, right: Any, result: np.ndarray
) -> np.ndarray:
    if _is_number(right) and _is_array(left):
        kind = _kind_before(left, right)
        return result if kind is None else function(left, kind.type(right))
    if _is_number(left) and _is_array(right):
        kind = _kind_before(right, left)
        return result if kind is None else function(kind.type(left), right)
    return result


def _is_number(value: Any) -> bool:
    return isinstance(value, _ARRAYS) and value.ndim == 0


def _is_array(value: Any) -> bool:
    return type(value) is np.ndarray and value.ndim > 0


def _kind_before(values: np.ndarray, number: Any) -> np.dtype | None:
    """The type to which NumPy 1 brought an array and a number; None: the type of NumPy 2."""
    kind, other = values.dtype, number.dtype
    if kind.kind not in _KINDS or other.kind not in _KINDS:
        return None
    if _KINDS[other.kind] > _KINDS[kind.kind]:
        return None
    before = np.promote_types(kind, np.min_scalar_type(number))
    if kind.kind in "iu" and other.kind in "iu":
        limits = np.iinfo(kind)
        if limits.min <= int(number) <= limits.max:
            before = kind
    return None if before == np.promote_types(kind, other) else before


add, sub, mul = (_arithmetic(getattr(operator, name)) for name in ("add", "sub", "mul"))
truediv, floordiv = (_arithmetic(getattr(operator, name)) for name in ("truediv", "floordiv"))
mod, pow = (_arithmetic(getattr(operator, name)) for name in ("mod", "pow"))
iadd, isub = _in_place(operator.iadd, add), _in_place(operator.isub, sub)
imul, itruediv = _in_place(operator.imul, mul), _in_place(operator.itruediv, truediv)
ifloordiv, imod = _in_place(operator.ifloordiv, floordiv), _in_place(operator.imod, mod)
ipow = _in_place(operator.ipow, pow)


def _is_single_integer(value: Any) -> bool:
    return isinstance(value, _ARRAYS) and value.ndim == 0 and value.dtype.kind in "iu"


def compare(a: Any, b: Any, same: bool) -> Any:
    """Returns `a == b`, or `a != b` without `same`; arrays of unlike shapes are not equal."""
    try:
        return a == b if same else a != b
    except ValueError as error:
        if "broadcast" not in str(error) and "inhomogeneous" not in str(error):
            raise
        return not same


def set_item(owner: Any, place: Any, value: Any, error: Exception) -> bool:
    """Does `owner[place] = value`, which failed with `error`, if NumPy 1 accepted it.

    NumPy 1 accepted an array of one element, and a number that is out of range.
    """
    if not isinstance(owner, np.ndarray):
        return False
    if isinstance(error, OverflowError) and owner.dtype.kind in "iu":
        owner[place] = wrapped(value, owner.dtype)
        return True
    if _is_single(value) and owner.dtype.kind in "biufc":
        owner[place] = value.item()
        return True
    return False


def wrapped(value: Any, dtype: Any) -> np.ndarray:
    """Converts integers to a type that may be too small: modulo the type's range, as in C."""
    return np.asarray(value).astype(dtype)


def scalar(kind: Any, value: Any) -> Any:
    """`np.uint8(value)` and the like; a `value` out of range is taken modulo the type's range."""
    try:
        return kind(value)
    except OverflowError:
        if not (isinstance(kind, type) and issubclass(kind, np.integer)):
            raise
        return np.asarray(value).astype(kind)[()]
