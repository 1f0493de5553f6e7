"""The parts of an Estimator: a model function, its settings, and its checkpoint directory."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.estimator import warm_start
from moxing.estimator.config import RunConfig
from moxing.estimator.modeling import functions
from moxing.estimator.running import checkpoints
from moxing.estimator.running.best import BestOfEvaluations
from moxing.flags import rehearsal
from moxing.framework.file import urls
from moxing.logs import TENSORFLOW


class Described:
    """The view of an Estimator that runs and exporters need; see Estimator for the arguments."""

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Any = None,
        config: RunConfig | None = None,
        params: Any = None,
        warm_start_from: Any = None,
    ) -> None:
        if not callable(model_fn):
            raise MoxTypeError(f"Estimator has model_fn={shown(model_fn)}, which is no function.")
        if not functions.names(model_fn):
            raise MoxValueError("Estimator's model_fn takes no arguments; it needs features.")
        if config is not None and not isinstance(config, RunConfig):
            raise MoxTypeError(
                f"Estimator has config={shown(config)}; it must be a tf.estimator.RunConfig."
            )
        config = config or RunConfig()
        directory = _directory(model_dir, config.model_dir)
        self._given_dir = directory
        self._config = config.replace(model_dir=rehearsal.folder_for(directory))
        self._params = copy.deepcopy(_plain(params))
        self._model_fn = model_fn
        self._warm_start_settings = warm_start.checked(warm_start_from)
        self.best = BestOfEvaluations(self._config)

    @property
    def warm_start(self) -> str | None:
        """The checkpoint that all variables start from; None if none or WarmStartSettings given."""
        given = self._warm_start_settings
        return given if isinstance(given, str) else None

    @property
    def warm_start_settings(self) -> warm_start.WarmStartSettings | None:
        """The settings that map variables to those of a checkpoint; None: no such settings."""
        given = self._warm_start_settings
        return given if isinstance(given, warm_start.WarmStartSettings) else None

    @property
    def config(self) -> RunConfig:
        """The Estimator's RunConfig, with the model_dir in use."""
        return self._config

    @property
    def model_dir(self) -> str:
        """The directory of checkpoints and summaries."""
        assert self._config.model_dir is not None
        return self._config.model_dir

    @property
    def params(self) -> Any:
        """A copy of the params that the model and input functions get."""
        return copy.deepcopy(self._params)

    def params_in(self, mode: str) -> Any:
        """Returns a copy of the params that the functions get in a mode."""
        del mode
        return self.params

    @property
    def given_model_fn(self) -> Callable[..., Any]:
        """The model function as the program gave it."""
        return self._model_fn

    @property
    def model_fn(self) -> Callable[..., Any]:
        """The model function as a function of (features, labels, mode, config)."""

        def call(features: Any, labels: Any, mode: str, config: Any = None) -> Any:
            return functions.call_model_fn(
                self._model_fn, features, labels, mode, self.params_in(mode), config or self._config
            )

        return call

    def latest_checkpoint(self) -> str | None:
        """Returns the prefix of the newest checkpoint in model_dir; None: there is none."""
        return checkpoints.newest(self.model_dir)

    def latest_unsaid(self) -> str | None:
        """Returns `latest_checkpoint` without its warning of damaged ones, which the run says."""
        return checkpoints.newest(self.model_dir, quiet=True)

    def earlier_checkpoint(self) -> str | None:
        """Returns the newest checkpoint of the program's model_dir, if a dry run stands in for it.

        A dry run that does not train evaluates, predicts with and exports this checkpoint.
        """
        if self.model_dir == self._given_dir:
            return None
        return checkpoints.newest(self._given_dir, quiet=True)

    def eval_dir(self, name: str | None = None) -> str:
        """Returns the directory of an evaluation's summaries."""
        return os.path.join(self.model_dir, f"eval_{name}" if name else "eval")


def _plain(params: Any) -> Any:
    """Returns `params` as functions see it: a dict for a mapping or None, else the object."""
    if params is None:
        return {}
    return dict(params) if isinstance(params, Mapping) else params


def _directory(given: Any, configured: str | None) -> str:
    if given is not None and configured is not None and urls.text(given) != configured:
        raise MoxValueError(
            f"Estimator has model_dir={shown(given)}, and its RunConfig model_dir={configured!r};"
            " give one of them."
        )
    if given is not None:
        return urls.text(given)
    if configured is not None:
        return configured
    made = tempfile.mkdtemp(prefix="moxing-estimator-")
    TENSORFLOW.warning("No model_dir is given: using the temporary folder %s.", made)
    return made
