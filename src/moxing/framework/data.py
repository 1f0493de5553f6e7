"""`moxing.framework.data` existed elsewhere; importing it here says what to do."""

from moxing.errors import MoxImportError

raise MoxImportError(
    "moxing.framework.data, a part of MoXing for data sets and manifests of ModelArts, is not"
    " part of openmox. A manifest is a file of JSON lines: read it by"
    " moxing.framework.file.read and json.",
    name=__name__,
)
