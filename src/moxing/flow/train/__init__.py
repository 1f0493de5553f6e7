"""`flow.train`: checkpoints; and how train jobs update their variables."""

from moxing.flow import absent
from moxing.flow.checkpoint import CheckPoint as CheckPoint
from moxing.flow.checkpoint import SimpleCheckPointManager as SimpleCheckPointManager

__getattr__, __dir__ = absent.of("flow.train", globals())
