"""One run from a Job to its Result: everything that the other rooms hold, in order."""
