"""Runs a program in this process, and reports why it ended."""
