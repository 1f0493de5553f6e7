"""A session while its program runs: jobs, the order of their steps, signals, other machines."""
