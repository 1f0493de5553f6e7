"""Small modules that programs import by path."""
