"""Finds, reads and parses the records of TFRecord files."""
