"""Words the texts that users read about a run: log lines, option names, errors, file names."""
