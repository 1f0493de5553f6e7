"""Finds the checkpoint to read, verifies it, and restores variables from it."""
