"""`moxing.framework.common` existed elsewhere; importing it here says what to do."""

from moxing.errors import MoxImportError

raise MoxImportError(
    "moxing.framework.common, a part of MoXing, is not part of openmox. The parts that programs"
    " used are in moxing.framework.file (files and stores), moxing.framework.util and Python's"
    " logging.",
    name=__name__,
)
