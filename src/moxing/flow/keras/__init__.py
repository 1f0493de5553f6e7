"""`flow.keras`: where the activations are."""

from moxing.flow.keras import activations as activations
