"""`moxing.tensorflow.executor.ops_adapter` existed elsewhere; importing it here says what to do."""

from moxing.errors import MoxImportError

raise MoxImportError(
    "moxing.tensorflow.executor.ops_adapter, an inner module of MoXing, is not part of openmox. For"
    " its rank() and size() take mox.get_flag('task_index') and the length of the list in"
    " mox.get_flag('worker_hosts').",
    name=__name__,
)
