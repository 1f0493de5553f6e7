"""The `mox` command."""
