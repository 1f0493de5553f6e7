"""Decodes the bytes of samples to tensors, and reports or skips damaged samples."""
