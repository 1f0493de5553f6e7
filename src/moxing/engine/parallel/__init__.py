"""Several devices and processes: variables shared or copied, gradients brought together."""
