"""`flow.losses`."""

from moxing.flow import absent
from moxing.flow.train.update import add_loss as add_loss

__getattr__, __dir__ = absent.of("flow.losses", globals())
