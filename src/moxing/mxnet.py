"""`moxing.mxnet` existed elsewhere; importing it here says what to do."""

from moxing.errors import MoxImportError

raise MoxImportError(
    "moxing.mxnet is not part of openmox: MXNet has ended. Port the model to TensorFlow and"
    " `import moxing.tensorflow as mox`.",
    name=__name__,
)
