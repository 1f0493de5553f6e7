"""`mox.auto`: finds a learning rate, a batch size and other hyper-parameters in short trials.

    spec = mox.auto.search(..., param_spec=mox.auto.ParamSpec(learning_rate=0.1, momentum=0.9),
                           param_list_spec=mox.auto.ParamSpec(momentum=[0.9, 0.95]))
    mox.auto.run(..., param_spec=spec)

The program's functions read the values being tried from `kwargs["param_spec"]`.
"""

from __future__ import annotations

from moxing.tensorflow.auto.batches import batch_size
from moxing.tensorflow.auto.params import ModelSize, ParamSpec
from moxing.tensorflow.auto.passing import run
from moxing.tensorflow.auto.search import search

__all__ = ["ModelSize", "ParamSpec", "batch_size", "run", "search"]
