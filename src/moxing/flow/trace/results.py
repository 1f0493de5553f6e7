"""Results of jobs: numpy arrays with the methods of the API's results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from moxing.errors import MoxAttributeError, MoxValueError


class Array(np.ndarray):
    """A result: a numpy array that also has the methods of later versions of the API."""

    def ndarray(self) -> np.ndarray:
        """The plain array."""
        return np.asarray(self)

    numpy = ndarray

    def ndarray_list(self) -> list[np.ndarray]:
        """The arrays of all devices, for a job on mirrored blobs."""
        return [np.asarray(self)]

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Makes results of numpy plain numpy values: `loss.mean()` is a number."""
        del context, return_scalar
        return np.asarray(array)[()]


class Lists(list[list[np.ndarray]]):
    """A result of tensors in lists: for each device a list of arrays, each of a size of its own."""

    def ndarray_lists(self) -> list[list[np.ndarray]]:
        """The lists of all devices."""
        return [list(arrays) for arrays in self]

    numpy_lists = ndarray_lists


class Mirrored(list[Array]):
    """A result of a job on mirrored blobs: a list of one array for each device.

    If an array is needed, it is the concatenation of these arrays along axis 0.
    """

    def ndarray_list(self) -> list[np.ndarray]:
        """The arrays of all devices, in the order of machines and their devices."""
        return [np.asarray(item) for item in self]

    def ndarray(self) -> np.ndarray:
        """The arrays, concatenated along axis 0.

        Raises:
            MoxValueError: their other sizes differ.
        """
        shapes = [item.shape for item in self]
        if len({shape[1:] for shape in shapes}) > 1:
            raise MoxValueError(
                f"the devices' arrays have the shapes {', '.join(map(str, shapes))}, and can't be"
                " put together: use .ndarray_list()."
            )
        return np.concatenate(self.ndarray_list(), 0)

    numpy = ndarray

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        del copy
        return self.ndarray().astype(dtype, copy=False) if dtype is not None else self.ndarray()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.ndarray(), name)


class _Several:
    """A collection of result arrays, with a hint for programs that use it as one array."""

    def __getattr__(self, name: str) -> NoReturn:
        kind = type(self).__mro__[2].__name__
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")
        assert isinstance(self, tuple | list | dict)
        first = next(iter(self), 0) if isinstance(self, dict) else 0
        raise MoxAttributeError(
            f".{name}: the job returns a {kind} of {len(self)}, and so does its .get(). Take a"
            f" result from the {kind} first: result[{first!r}].{name}.",
            name=name,
        )


class Tuple(_Several, tuple[Any, ...]):
    """The results of a job that returns a tuple."""


class List(_Several, list[Any]):
    """The results of a job that returns a list."""


class Dict(_Several, dict[Any, Any]):
    """The results of a job that returns a dict."""


_SEVERAL: dict[type, Callable[[Iterable[Any]], Any]] = {tuple: Tuple, list: List, dict: Dict}


def several(result: Any) -> Any:
    """Returns a plain tuple, list or dict of results as a kind with hints; others as they are."""
    kind = _SEVERAL.get(type(result))
    return result if kind is None else kind(result)
