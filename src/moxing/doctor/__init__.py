"""Looks for problems of a machine or a cluster that would keep a program from running."""
