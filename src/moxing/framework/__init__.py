"""Modules that use no deep-learning library: files and small utilities."""
