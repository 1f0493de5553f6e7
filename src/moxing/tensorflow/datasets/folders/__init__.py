"""Trees of class folders: how they are listed, and turned into TFRecord files."""
