"""Lists trees of class folders, and converts them to TFRecord files."""
