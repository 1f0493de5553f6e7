"""Inner modules of the original that programs import."""
