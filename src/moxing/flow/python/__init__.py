"""Where some programs import inner modules of the original from."""
