"""Exports a trained model as a SavedModel that TensorFlow Serving and TensorFlow 2 load.

In the order of a run: `target` picks the directory, `placeholders` stand in for the inputs,
`check` and `check_variables` refuse before step 0 what could not be served, `write` exports.
"""

from moxing.engine.export.check import check
from moxing.engine.export.inputs import placeholders
from moxing.engine.export.signature import ExportSignature
from moxing.engine.export.target import target
from moxing.engine.export.variables import check_variables, checkpoint_names
from moxing.engine.export.write import write

__all__ = [
    "ExportSignature",
    "check",
    "check_variables",
    "checkpoint_names",
    "placeholders",
    "target",
    "write",
]
