"""Records of a run in its directory: metrics as JSON lines, and a report as one HTML page."""
