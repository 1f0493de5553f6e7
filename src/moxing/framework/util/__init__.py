"""Small utilities that old scripts import by path."""
