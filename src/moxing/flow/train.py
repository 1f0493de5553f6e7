"""`flow.train`: checkpoints."""

from moxing.flow import absent
from moxing.flow.saving.checkpoints import CheckPoint as CheckPoint
from moxing.flow.saving.manager import SimpleCheckPointManager as SimpleCheckPointManager

__getattr__, __dir__ = absent.of("flow.train", globals())
