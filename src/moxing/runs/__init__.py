"""Looks at runs from outside: which there are, how they ended, and how they compare."""
