"""The step loop, the session that it calls, and the work between steps."""
