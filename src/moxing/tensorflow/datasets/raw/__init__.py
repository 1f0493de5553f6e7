"""Readers of trees of image files."""
