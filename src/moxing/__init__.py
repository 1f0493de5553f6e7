"""openmox: write `input_fn`, `model_fn` and `optimizer_fn` once; flags decide where it runs.

Importing this package never imports TensorFlow. The first dialect is `moxing.tensorflow`.
"""

__version__ = "0.1.0"
