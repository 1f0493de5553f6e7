"""`HDF5Matrix`: rows of a data set in an HDF5 file, which a model reads batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from moxing.errors import MoxValueError, shown


class HDF5Matrix:
    """A range of rows of a data set, used like an array.

    Give `shuffle="batch"` or `shuffle=False` to `fit`: HDF5 reads ranges of rows fast, single rows
    slowly.

    Args:
        datapath: path of the file.
        dataset: name of the data set in the file.
        start: the first row.
        end: the row behind the last; None: all rows from `start` on.
        normalizer: a function of the rows that were read, whose result stands for them.

    Raises:
        MoxValueError: the file has no data set of that name.
    """

    # Files are shared: HDF5 does not open one of them twice in other modes.
    refs: dict[str, Any] = {}  # noqa: RUF012 - the name and place are those of Keras.

    def __init__(
        self,
        datapath: str,
        dataset: str,
        start: int = 0,
        end: int | None = None,
        normalizer: Callable[[Any], Any] | None = None,
    ) -> None:
        import h5py

        if datapath not in self.refs:
            self.refs[datapath] = h5py.File(datapath, "r")
        if dataset not in self.refs[datapath]:
            raise MoxValueError(
                f"{datapath} has no data set {shown(dataset)}; it has"
                f" {', '.join(self.refs[datapath]) or 'none'}."
            )
        self.data = self.refs[datapath][dataset]
        self.start, self.end = start, self.data.shape[0] if end is None else end
        self.normalizer = normalizer
        first = self._normalized(self.data[0:1])[0]
        self._base_shape, self._base_dtype = first.shape, first.dtype

    def __len__(self) -> int:
        return self.end - self.start

    def __getitem__(self, key: Any) -> Any:
        """Returns rows: of a number, a slice, or a list or array of numbers, in its order.

        Raises:
            IndexError: a row behind the last.
        """
        if isinstance(key, slice):
            begin, end, step = key.indices(len(self))
            return self._normalized(self.data[self.start + begin : self.start + end : step])
        rows = np.asarray(key)
        if rows.size and (rows.max() >= len(self) or rows.min() < -len(self)):
            raise IndexError(f"{key} lies outside of the {len(self)} rows of {self.data.name}")
        rows = np.where(rows < 0, rows + len(self), rows) + self.start
        if not rows.ndim:
            return self._normalized(self.data[int(rows)])
        ordered, places = np.unique(rows, return_inverse=True)  # HDF5 takes growing numbers only.
        return self._normalized(self.data[ordered.tolist()][places])

    def _normalized(self, rows: Any) -> Any:
        return rows if self.normalizer is None else self.normalizer(rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, with the number of rows first."""
        return (len(self), *self._base_shape)

    @property
    def dtype(self) -> np.dtype:
        """The dtype of normalized rows."""
        return self._base_dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))
