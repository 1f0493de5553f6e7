"""Hooks that end a training early, or evaluate during it."""
