"""Writes checkpoints: into a hidden folder first, then into place by one commit."""
