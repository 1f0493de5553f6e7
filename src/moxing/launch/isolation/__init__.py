"""A network of its own for a job on one machine, or for a task on one of several."""
