"""Minimizes with an optimizer outside the graph, such as SciPy's L-BFGS-B."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxImportError


class ExternalOptimizerInterface:
    """Computes losses and gradients for `_minimize`, with all variables packed into one vector."""

    def __init__(
        self,
        loss: Any,
        var_list: Sequence[Any] | None = None,
        equalities: Sequence[Any] | None = None,
        inequalities: Sequence[Any] | None = None,
        var_to_bounds: dict[Any, tuple[Any, Any]] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        """Builds the graph of a minimization.

        Args:
            loss: the loss, a scalar tensor.
            var_list: the variables; all trainable variables by default.
            equalities: scalar tensors that must be 0.
            inequalities: scalar tensors that must be at least 0.
            var_to_bounds: by variable, a pair (lower, upper) of scalars or arrays of its shape.
            **optimizer_kwargs: arguments of the optimizer.
        """
        self._loss, self._vars = loss, list(var_list or tf.trainable_variables())
        self._equalities, self._inequalities = list(equalities or ()), list(inequalities or ())
        self.optimizer_kwargs = optimizer_kwargs
        sizes = [int(np.prod(variable.shape.as_list())) for variable in self._vars]
        ends = np.cumsum(sizes).tolist()
        self._slices = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        self._bounds = self._packed_bounds(var_to_bounds or {})
        self._gradient = self._packed_gradient(loss)
        self._constraint_gradients = [
            self._packed_gradient(value) for value in self._equalities + self._inequalities
        ]
        self._packed = tf.concat([tf.reshape(variable, [-1]) for variable in self._vars], 0)
        self._placeholders = [
            tf.placeholder(variable.dtype.base_dtype, variable.shape) for variable in self._vars
        ]
        self._updates = [
            tf.assign(variable, value)
            for variable, value in zip(self._vars, self._placeholders, strict=True)
        ]

    def _packed_bounds(self, given: dict[Any, Any]) -> list[tuple[float, float]] | None:
        if not given:
            return None
        by_name = {variable.name: bounds for variable, bounds in given.items()}
        bounds: list[tuple[float, float]] = []
        for variable in self._vars:
            low, high = by_name.get(variable.name, (-np.inf, np.inf))
            shape = variable.shape.as_list()
            lows, highs = (np.broadcast_to(value, shape).ravel() for value in (low, high))
            bounds.extend(zip(lows.tolist(), highs.tolist(), strict=True))
        return bounds

    def _packed_gradient(self, value: Any) -> Any:
        gradients = tf.gradients(value, self._vars)
        parts = [
            tf.zeros_like(variable) if gradient is None else tf.convert_to_tensor(gradient)
            for variable, gradient in zip(self._vars, gradients, strict=True)
        ]
        return tf.concat([tf.reshape(part, [-1]) for part in parts], 0)

    def minimize(
        self,
        session: Any = None,
        feed_dict: Any = None,
        fetches: Any = None,
        step_callback: Callable[[Any], Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Sets the variables to values that minimize the loss.

        Args:
            session: the session; the default session by default.
            feed_dict: the feed_dict of every run.
            fetches: tensors whose values `loss_callback` gets.
            step_callback: called with the packed vector of variables after each step.
            loss_callback: called with the fetched values at each evaluation.
            **run_kwargs: arguments of `session.run`.
        """
        session = session or tf.get_default_session()
        fetches = list(fetches or ())
        callback = loss_callback or (lambda *_: None)

        def evaluate(tensors: list[Any]) -> Callable[[np.ndarray], list[Any]]:
            def run(x: np.ndarray) -> list[Any]:
                self._assign(session, x)
                return session.run(tensors, feed_dict=feed_dict, **run_kwargs)

            return run

        at = evaluate([self._loss, self._gradient, *fetches])

        def loss_and_gradient(x: np.ndarray) -> tuple[Any, Any]:
            loss, gradient, *values = at(x)
            callback(*values)
            return loss, gradient

        constraints = self._equalities + self._inequalities
        pairs = zip(constraints, self._constraint_gradients, strict=True)
        functions = [evaluate([value, gradient]) for value, gradient in pairs]
        count = len(self._equalities)
        best = self._minimize(
            initial_val=session.run(self._packed, feed_dict=feed_dict),
            loss_grad_func=loss_and_gradient,
            equality_funcs=functions[:count],
            inequality_funcs=functions[count:],
            packed_bounds=self._bounds,
            step_callback=step_callback,
            optimizer_kwargs=self.optimizer_kwargs,
        )
        self._assign(session, best)

    def _unpack(self, x: np.ndarray) -> list[np.ndarray]:
        return [
            np.reshape(x[part], variable.shape.as_list()).astype(
                variable.dtype.base_dtype.as_numpy_dtype
            )
            for variable, part in zip(self._vars, self._slices, strict=True)
        ]

    def _assign(self, session: Any, x: np.ndarray) -> None:
        session.run(self._updates, dict(zip(self._placeholders, self._unpack(x), strict=True)))

    def _minimize(self, **kwargs: Any) -> np.ndarray:
        raise NotImplementedError("To use ExternalOptimizerInterface, define _minimize().")


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimizes with `scipy.optimize.minimize`; its arguments include method= and options=."""

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self,
        initial_val: np.ndarray,
        loss_grad_func: Callable[[np.ndarray], tuple[Any, Any]],
        equality_funcs: list[Any],
        inequality_funcs: list[Any],
        packed_bounds: Any,
        step_callback: Any,
        optimizer_kwargs: dict[str, Any],
    ) -> np.ndarray:
        try:
            from scipy import optimize
        except ModuleNotFoundError as error:
            raise MoxImportError(
                "ScipyOptimizerInterface needs SciPy, which is not installed. Install it:"
                " pip install scipy",
                name="scipy",
            ) from error
        constraints = [
            {"type": kind, "fun": lambda x, at=at: at(x)[0], "jac": lambda x, at=at: at(x)[1]}
            for kind, functions in (("eq", equality_funcs), ("ineq", inequality_funcs))
            for at in functions
        ]
        options = dict(optimizer_kwargs)
        method = options.pop("method", "SLSQP" if constraints else self._DEFAULT_METHOD)

        def doubles(x: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = loss_grad_func(x)
            return float(loss), np.asarray(gradient, np.float64)

        result = optimize.minimize(
            doubles,
            np.asarray(initial_val, np.float64),
            method=method,
            jac=True,
            callback=step_callback,
            constraints=constraints,
            bounds=packed_bounds,
            **options,
        )
        tf.logging.info(
            "Optimization terminated with:\n  Message: %s\n  Objective function value: %f\n"
            "  Number of iterations: %s\n  Number of functions evaluations: %d",
            result.message,
            result.fun,
            getattr(result, "nit", "unknown"),
            result.nfev,
        )
        return result.x
