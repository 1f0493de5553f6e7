"""The wrapper with which old scripts synchronize asynchronous workers."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxValueError
from moxing.tensorflow.optimizer.wrapper import OptimizerWrapper


class SimpleSyncOptimizer(OptimizerWrapper):
    """Wraps an optimizer without a change; supports only one worker.

    Args:
      opt: the wrapped optimizer.
      num_workers: the number of workers in the job.
      task_index: the index of this worker, in [0, num_workers).
      name: the name of the optimizer.

    Raises:
      MoxValueError: the task index is outside its range.
      MoxNotSupportedError: there is more than one worker.
    """

    def __init__(
        self,
        opt: tf.train.Optimizer,
        num_workers: int = 1,
        task_index: int = 0,
        name: str = "simple_sync",
    ) -> None:
        super().__init__(opt, name)
        if not 0 <= task_index < num_workers:
            raise MoxValueError(
                f"SimpleSyncOptimizer: task_index is {task_index}; with {num_workers} workers it "
                f"must be at least 0 and below {num_workers}."
            )
        if num_workers > 1:
            raise MoxNotSupportedError(
                f"SimpleSyncOptimizer: {num_workers} workers are not kept in step by the "
                f"optimizer in this version. Leave it out and set the flag sync_replicas to True."
            )
