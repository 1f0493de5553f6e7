"""Calls model functions, checks their results, and takes over their variable updates."""
