"""gym as it was until 0.25, on gymnasium: gym's own last release does not run with NumPy 2."""
