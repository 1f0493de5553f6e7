"""`flow.losses`."""

from moxing.flow.train.update import add_loss as add_loss
