"""Records of TFRecord files: where each begins, how they are read, and what is in them."""
