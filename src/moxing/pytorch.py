"""`moxing.pytorch` existed elsewhere; importing it here says what to do."""

from moxing.errors import MoxImportError

raise MoxImportError(
    "moxing.pytorch is not part of openmox, which runs TensorFlow programs. Run PyTorch programs"
    " with torchrun; for files in object stores `import moxing as mox` and use mox.file.",
    name=__name__,
)
