"""`flow.train`: checkpoints; and how train jobs update their variables."""

from moxing.flow.checkpoint import CheckPoint as CheckPoint
from moxing.flow.checkpoint import SimpleCheckPointManager as SimpleCheckPointManager
