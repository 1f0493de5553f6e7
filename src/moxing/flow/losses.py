"""`flow.losses`."""

from moxing.flow import absent
from moxing.flow.training.update import add_loss as add_loss

__getattr__, __dir__ = absent.of("flow.losses", globals())
