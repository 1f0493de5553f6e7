"""What users read of a run: log lines, names of options, errors of their functions, files."""
