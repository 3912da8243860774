"""Hostile values in every field of the files that strangers write: none becomes code, and none ends in a traceback."""
