"""The step loop, the session that it calls, and what is done between steps."""
