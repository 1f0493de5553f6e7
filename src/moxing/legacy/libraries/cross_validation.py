"""`sklearn.cross_validation` of scikit-learn 0.17, whose splits take the number of samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.model_selection import (  # noqa: F401
    check_cv,
    cross_val_predict,
    cross_val_score,
    permutation_test_score,
    train_test_split,
)


class _Splits:
    """An iterable of pairs of index arrays: the training samples and the test samples."""

    def __init__(self, splitter: Any, n: int, y: Any = None, groups: Any = None) -> None:
        self._splitter = splitter
        self._y = y
        self._groups = groups
        self.n = n

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return self._splitter.split(np.zeros(self.n), self._y, self._groups)

    def __len__(self) -> int:
        return self._splitter.get_n_splits(np.zeros(self.n), self._y, self._groups)


class KFold(_Splits):
    """`n_folds` parts of `n` samples; each part is the test set once."""

    def __init__(
        self, n: int, n_folds: int = 3, shuffle: bool = False, random_state: Any = None
    ) -> None:
        state = random_state if shuffle else None
        super().__init__(
            model_selection.KFold(n_folds, shuffle=shuffle, random_state=state), int(n)
        )
        self.n_folds = n_folds


class StratifiedKFold(_Splits):
    """`n_folds` parts, each with about the same shares of the labels `y`."""

    def __init__(
        self, y: Any, n_folds: int = 3, shuffle: bool = False, random_state: Any = None
    ) -> None:
        state = random_state if shuffle else None
        splitter = model_selection.StratifiedKFold(n_folds, shuffle=shuffle, random_state=state)
        super().__init__(splitter, len(y), y)
        self.n_folds = n_folds


class LeaveOneOut(_Splits):
    """Each of `n` samples is once the only test sample."""

    def __init__(self, n: int) -> None:
        super().__init__(model_selection.LeaveOneOut(), n)


class ShuffleSplit(_Splits):
    """`n_iter` random test sets of `n` samples."""

    def __init__(
        self,
        n: int,
        n_iter: int = 10,
        test_size: Any = 0.1,
        train_size: Any = None,
        random_state: Any = None,
    ) -> None:
        splitter = model_selection.ShuffleSplit(
            n_iter, test_size=test_size, train_size=train_size, random_state=random_state
        )
        super().__init__(splitter, n)


class StratifiedShuffleSplit(_Splits):
    """`n_iter` random test sets with the shares of the labels `y`."""

    def __init__(
        self,
        y: Any,
        n_iter: int = 10,
        test_size: Any = 0.1,
        train_size: Any = None,
        random_state: Any = None,
    ) -> None:
        splitter = model_selection.StratifiedShuffleSplit(
            n_iter, test_size=test_size, train_size=train_size, random_state=random_state
        )
        super().__init__(splitter, len(y), y)


class LabelKFold(_Splits):
    """`n_folds` parts; all samples of a label are in the same part."""

    def __init__(self, labels: Any, n_folds: int = 3) -> None:
        super().__init__(model_selection.GroupKFold(n_folds), len(labels), groups=labels)
