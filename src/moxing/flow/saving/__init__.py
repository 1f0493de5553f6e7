"""Checkpoints of sessions, on disks and in stores, in the original's folders and others."""
