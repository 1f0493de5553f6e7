"""`TPUEstimator` with `use_tpu=False`: an Estimator with a batch size for each mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError, shown
from moxing.estimator.config import RunConfig
from moxing.estimator.counts import whole
from moxing.estimator.estimator import Estimator
from moxing.estimator.modeling.spec import ModeKeys

_SIZE = "batch_size"


class TPUEstimator(Estimator):
    """An Estimator whose functions get the batch size as `params["batch_size"]`.

    Args:
        model_fn: see `tf.estimator.Estimator`; may also return a TPUEstimatorSpec.
        model_dir, config, warm_start_from: see `tf.estimator.Estimator`.
        params: passed to the functions: a dict without "batch_size", or an object with
            `values()`, such as `tf.contrib.training.HParams`.
        use_tpu: must be False.
        train_batch_size, eval_batch_size, predict_batch_size: the number of samples per batch on
            one device, by mode; None: the functions get no batch size.
        batch_axis, eval_on_tpu, export_to_tpu, export_to_cpu, others: settings of TPUs; not used.

    Raises:
        MoxNotSupportedError: use_tpu is True, or embedding_config_spec is given.
        MoxTypeError, MoxValueError: an argument that can't be used.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: Any = None,
        config: RunConfig | None = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        embedding_config_spec: Any = None,
        export_saved_model_api_version: Any = None,
    ) -> None:
        del batch_axis, eval_on_tpu, export_to_tpu, export_to_cpu, export_saved_model_api_version
        if use_tpu:
            raise MoxNotSupportedError(
                "TPUEstimator has use_tpu=True, its default, and there are no TPUs here. Pass"
                " use_tpu=False: the same program then trains on CPUs and GPUs, of any number of"
                " processes."
            )
        if embedding_config_spec is not None:
            raise MoxNotSupportedError(
                "TPUEstimator has embedding_config_spec=..., which puts embeddings on TPUs. Leave"
                " it out, and use tf.feature_column.embedding_column or tf.nn.embedding_lookup."
            )
        if model_fn is None:
            raise MoxTypeError("TPUEstimator has no model_fn; give it a function.")
        if params is not None and _SIZE in params:
            raise MoxValueError(
                "TPUEstimator has 'batch_size' in params, which is where it puts the size itself."
                " Take it out, and pass train_batch_size, eval_batch_size and predict_batch_size."
            )
        self._sizes = {
            ModeKeys.TRAIN: _size("train_batch_size", train_batch_size),
            ModeKeys.EVAL: _size("eval_batch_size", eval_batch_size),
            ModeKeys.PREDICT: _size("predict_batch_size", predict_batch_size),
        }
        super().__init__(model_fn, model_dir, config, params, warm_start_from)

    def params_in(self, mode: str) -> Any:
        """Returns a copy of the params for a mode, with its batch size."""
        params = self.params
        size = self._sizes[mode]
        if size is None:
            return params
        if hasattr(params, "add_hparam"):
            params.add_hparam(_SIZE, size)
        else:
            params[_SIZE] = size
        return params


def _size(name: str, value: Any) -> int | None:
    if value is None:
        return None
    size = whole(value)
    if size is None or size <= 0:
        raise MoxValueError(
            f"TPUEstimator has {name}={shown(value)}; it must be a number above 0, or None."
        )
    return size
