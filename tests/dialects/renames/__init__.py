"""A dialect of its own for tests: `renames.yaml` lists operators that have a new name."""
