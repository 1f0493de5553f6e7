"""How the tasks of a job find each other: they prove the secret, compare facts, start together."""
