"""Runs the program in this process and says why it ended."""
