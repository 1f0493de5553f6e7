"""Copies files and whole directories in parallel, large files in parts."""
