"""The path by which some programs import inner modules of the original."""
