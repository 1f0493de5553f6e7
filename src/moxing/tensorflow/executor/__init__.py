"""Runs user functions: `run`, what they return, and the hooks they may use."""
