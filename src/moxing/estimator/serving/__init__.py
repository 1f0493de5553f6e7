"""Models written for others to serve, and when."""
