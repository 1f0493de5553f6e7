"""Shows a run while it works: the live line, TensorBoard summaries, and its records."""
