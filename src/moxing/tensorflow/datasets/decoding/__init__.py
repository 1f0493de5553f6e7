"""From the bytes of a sample to its tensor, and what becomes of samples that are damaged."""
