"""The control channel of a running job: events, gathered values, signs of life, the end."""
