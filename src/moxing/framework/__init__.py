"""Parts that know no deep-learning library: files and small utilities."""
