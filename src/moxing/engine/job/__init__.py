"""The description of a run, as frozen dataclasses that a dialect makes and the engine executes."""
