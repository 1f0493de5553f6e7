"""What to run, as frozen values, which a dialect makes and the engine takes from there."""
