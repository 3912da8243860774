"""Random conditions and sizes of library entries: C++, traces and Python's own arithmetic say the same of each call."""
