"""Runs a program's functions: `run`, the specs that they return, and hooks for them."""
