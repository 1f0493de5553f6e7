"""A job while its function runs: its blobs, their parts on devices, and its variables."""
