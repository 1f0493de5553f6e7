"""Looks at runs from outside: finds them, says how they ended, and compares them."""
