"""`keras.wrappers.scikit_learn`: Keras models as estimators of scikit-learn."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from moxing.errors import MoxValueError, near_matches

_OWN = ("fit", "predict", "predict_classes", "evaluate")


class BaseWrapper(BaseEstimator):
    """A Keras model that is built and trained anew by each call of `fit`.

    Args:
        build_fn: a function that returns a compiled model; None: `__call__` of a subclass.
        **sk_params: arguments of build_fn and of the model's fit and predict, by name.

    Raises:
        MoxValueError: none of these functions has the argument.
    """

    def __init__(self, build_fn: Callable[..., Any] | None = None, **sk_params: Any) -> None:
        self.build_fn, self.sk_params = build_fn, sk_params
        self.check_params(sk_params)

    def check_params(self, params: dict[str, Any]) -> None:
        """Raises a MoxValueError if no function takes one of the arguments."""
        from tf_keras import Sequential

        known = {"nb_epoch", *_names(self._builder())}
        for method in _OWN:
            known.update(_names(getattr(Sequential, method, None)))
        for name in params:
            if name not in known:
                raise MoxValueError(
                    f"{type(self).__name__} has the argument {name!r}, which neither build_fn nor"
                    f" the model's fit and predict have.{near_matches(name, sorted(known))}"
                )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the arguments of this object, by name."""
        del deep
        return {**self.sk_params, "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> Any:
        """Changes arguments, and returns this object."""
        if "build_fn" in params:
            self.build_fn = params.pop("build_fn")
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Builds the model, trains it, and returns its history."""
        builder = self._builder()
        self.model = builder(**self.filter_sk_params(builder))
        if str(getattr(self.model, "loss", "")).startswith("categorical_crossentropy"):
            y = np.asarray(y)
            y = y if y.ndim == 2 else np.eye(int(y.max()) + 1)[y.astype(int)]
        self.history = self.model.fit(x, y, **self.filter_sk_params(self.model.fit, kwargs))
        return self.history

    def filter_sk_params(self, fn: Any, override: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns the arguments that a function has, updated with `override`."""
        renamed = {"epochs" if k == "nb_epoch" else k: v for k, v in self.sk_params.items()}
        taken = _names(fn)
        return {k: v for k, v in renamed.items() if k in taken} | (override or {})

    def _builder(self) -> Callable[..., Any]:
        if self.build_fn is None:
            return self.__call__  # type: ignore[attr-defined]
        return self.build_fn

    def _outputs(self, x: Any, kwargs: dict[str, Any]) -> Any:
        return self.model.predict(x, **self.filter_sk_params(self.model.predict, kwargs))


class KerasClassifier(ClassifierMixin, BaseWrapper):
    """A Keras model as a classifier; its labels may be of any kind."""

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Trains on labels, numbers or one-hot rows, and returns the history."""
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        else:
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        self.n_classes_ = len(self.classes_)
        return super().fit(x, y, **kwargs)

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """Returns the class of each sample."""
        found = self._outputs(x, kwargs)
        wide = found.shape[-1] > 1
        return self.classes_[found.argmax(-1) if wide else (found > 0.5).astype(int)]

    def predict_proba(self, x: Any, **kwargs: Any) -> Any:
        """Returns the probability of each class, of shape [samples, classes]."""
        found = self._outputs(x, kwargs)
        return np.hstack([1 - found, found]) if found.shape[1] == 1 else found

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """Returns the share of samples whose class is right."""
        y = np.asarray(y)
        y = y.argmax(-1) if y.ndim == 2 and y.shape[1] > 1 else y.reshape(-1)
        return float(np.mean(self.predict(x, **kwargs).reshape(-1) == y))


class KerasRegressor(RegressorMixin, BaseWrapper):
    """A Keras model as a regressor."""

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """Returns the value of each sample."""
        return np.squeeze(self._outputs(x, kwargs), axis=-1)

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """Returns the negative loss on samples."""
        named = self.filter_sk_params(self.model.evaluate, kwargs)
        loss = self.model.evaluate(x, y, **named)
        return -float(loss[0] if isinstance(loss, list) else loss)


def _names(function: Any) -> set[str]:
    return set() if function is None else set(inspect.signature(function).parameters) - {"self"}
