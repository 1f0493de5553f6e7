"""Hooks that end a training early, or evaluate inside of it."""
