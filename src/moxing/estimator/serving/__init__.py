"""Exports models for serving, and decides which checkpoints to export."""
