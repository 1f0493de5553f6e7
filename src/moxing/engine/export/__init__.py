"""Exports a trained model as a SavedModel that TensorFlow Serving and TensorFlow 2 load.

In the order of a run: `target` picks the directory; `placeholders` stand in for the inputs;
`check`, `check_kinds` and `check_variables` refuse, before step 0, a model that could not be
served; `write` exports the model and loads it again to check it. Frozen graphs and models for
TensorFlow Lite and ONNX are files beside the SavedModel.
"""

from moxing.engine.export.averaged import saver as averages_saver
from moxing.engine.export.check import check
from moxing.engine.export.inputs import placeholders
from moxing.engine.export.kinds import KINDS, check_installed, check_kinds, functional_loops
from moxing.engine.export.labels import labels_beside
from moxing.engine.export.target import target
from moxing.engine.export.variables import check_variables, checkpoint_names
from moxing.engine.export.write import Extras, write
from moxing.engine.job.signature import ExportSignature

__all__ = [
    "KINDS",
    "ExportSignature",
    "Extras",
    "check",
    "check_installed",
    "check_kinds",
    "functional_loops",
    "check_variables",
    "averages_saver",
    "checkpoint_names",
    "labels_beside",
    "placeholders",
    "target",
    "write",
]
