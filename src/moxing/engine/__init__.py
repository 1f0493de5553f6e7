"""Builds train steps and runs them. Knows no dialect, reads no flags and no environment."""
