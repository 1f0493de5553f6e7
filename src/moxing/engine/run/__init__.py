"""Makes a run from a Job to its Result, by calling the engine's other rooms in order."""
