"""Looks at a machine, and at a cluster from it, for what would keep a program from running."""
