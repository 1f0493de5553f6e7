"""The Inception networks, built of the same modules."""
