"""Copies files and whole directories, in parts and side by side."""
